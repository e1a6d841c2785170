import { setTimeout as sleep } from 'node:timers/promises'
import { Tally } from '../../../../clients/sdk/src/node.ts'
import type { ReporterOptions } from '../../../../clients/sdk/src/reporter/options.ts'
import type { SpoolTimings } from '../../../../clients/sdk/src/reporter/spool/spool.ts'
import type { UsageEvent } from '../../../../clients/sdk/src/reporter/usage-event.ts'
import { UsageReporter } from '../../../../clients/sdk/src/reporter/usage-reporter.ts'
import { type CrashAt, crashAt } from '../../../../shared/lifecycle/crash-at.ts'

/** What the program does, as JSON in its only argument. */
export interface ReportOrder {
  url: string
  apiKey: string
  options: ReporterOptions
  timings: SpoolTimings
  crash?: CrashAt
  /** Its events have this, and the keys `RUN-0`, `RUN-1` and so on. */
  event: UsageEvent
  run: string
  events: number
  /** How many are reported at once, and how long it waits afterwards. */
  wave: number
  pauseMs: number
  /** How the program ends: it closes, it is at its end, or it waits to be killed. */
  end: 'close' | 'nothing' | 'wait'
  /** Whether it adds the events, instead of reporting them. */
  adds?: boolean
}

/** Numbers of events that are safe, and are not told yet. */
let safe: number[] = []

// The parent has what was written here, whatever happens to this process.
const tell = (line: string) => process.stdout.write(`${line}\n`)

function tellSafe(): void {
  if (safe.length > 0) tell(`safe ${safe.join(' ')}`)
  safe = []
}

async function main(): Promise<void> {
  const order = JSON.parse(process.argv[2] ?? '') as ReportOrder
  const tally = new Tally({ url: order.url, apiKey: order.apiKey })
  const reporter = new UsageReporter(tally, order.options, {
    timings: order.timings,
    reached: crashAt(order.crash),
  })
  for (let from = 0; from < order.events; from += order.wave) {
    const numbers = Array.from({ length: Math.min(order.wave, order.events - from) }, (_, n) => from + n)
    tell(`tried ${from} ${from + numbers.length}`)
    const keys = numbers.map((n) => `${order.run}-${n}`)
    const events = keys.map((key) => ({ ...order.event, key, properties: { key } }))
    if (order.adds === true) for (const event of events) reporter.add(event)
    else await Promise.all(events.map((event, index) => reportOne(reporter, event, from + index)))
    tellSafe()
    if (order.pauseMs > 0) await sleep(order.pauseMs)
  }
  if (order.end === 'close') tell(`closed ${JSON.stringify(await reporter.close())}`)
  if (order.end === 'wait') await sleep(600_000)
}

async function reportOne(reporter: UsageReporter, event: UsageEvent, n: number): Promise<void> {
  for (;;) {
    try {
      await reporter.report(event)
      safe.push(n)
      return
    } catch (err) {
      tell(`refused ${n} ${String(err)}`)
      // The disk may have room again.
      await sleep(100)
    }
  }
}

await main()
