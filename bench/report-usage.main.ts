import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { InFlight } from '../clients/reporter/in-flight.ts'
import { reportBatch } from '../clients/reporter/report-batch.ts'
import { Tally } from '../clients/sdk/src/node.ts'
import { type UsageEvent, UsageReporter } from '../clients/sdk/src/reporter/index.ts'
import { makeTempFolder } from '../test/support/temp-folder.ts'

/** How usage is reported: as import does it, or by a reporter, whose spool is synced or not. */
export type Way = 'import' | 'reporter' | 'spool, os' | 'spool, group'

/** What the process is to do, as JSON in its only argument. */
export interface ReportOrder {
  url: string
  way: Way
  rate: number
  seconds: number
  warmUpSeconds: number
}

const TICK_MS = 10
const BATCH = 1_000
const IN_FLIGHT = 4
const ACCOUNT = `account_${'0'.repeat(32)}`
const METRIC = `metric_${'0'.repeat(32)}`

/** Reports events, and says how much processor time of this process each took, in microseconds. */
async function main(): Promise<void> {
  const { url, way, rate, seconds, warmUpSeconds } = JSON.parse(process.argv[2] ?? '') as ReportOrder
  const folder = await makeTempFolder('bench-spool')
  const tally = new Tally({ url, apiKey: 'tally_live_bench' })
  const sender = way === 'import' ? byImport(tally) : byReporter(tally, way, folder)
  let n = 0
  const run = async (durationS: number) => {
    const startedAt = performance.now()
    for (let sent = 0; sent < rate * durationS;) {
      const due = Math.min(((performance.now() - startedAt) / 1_000) * rate, rate * durationS)
      for (; sent < due; sent++) await sender.add(eventOf(n++))
      await sleep(TICK_MS)
    }
  }
  await run(warmUpSeconds)
  const before = process.cpuUsage()
  await run(seconds)
  await sender.end()
  const { user, system } = process.cpuUsage(before)
  process.send?.((user + system) / (rate * seconds))
  await rm(folder, { recursive: true })
}

const eventOf = (n: number): UsageEvent & { key: string } => ({
  account: ACCOUNT,
  metric: METRIC,
  quantity: String(n % 5_000),
  key: `bench-${n}`,
  properties: { model: 'large', region: 'eu', request: `request-${n}` },
})

interface Sender {
  add(event: UsageEvent & { key: string }): Promise<void> | undefined
  end(): Promise<unknown>
}

function byImport(tally: Tally): Sender {
  const inFlight = new InFlight(IN_FLIGHT)
  let batch: { json: string }[] = []
  return {
    add(event) {
      const json = JSON.stringify({
        account_id: event.account,
        metric_id: event.metric,
        quantity: event.quantity,
        occurred_at: Math.floor(Date.now() / 1_000),
        idempotency_key: event.key,
        properties: event.properties,
      })
      if (batch.push({ json }) < BATCH) return undefined
      const full = batch
      batch = []
      return inFlight.add(async () => {
        await reportBatch((call) => Promise.resolve(call(tally)), full)
      })
    },
    end: () => inFlight.settle(),
  }
}

function byReporter(tally: Tally, way: Way, dir: string): Sender {
  const sync = way === 'spool, os' ? 'os' : 'group'
  const reporter = new UsageReporter(tally, way === 'reporter' ? {} : { spool: { dir, sync } })
  return {
    add: (event) => (reporter.add(event) ? undefined : reporter.ready()),
    end: () => reporter.close(),
  }
}

await main()
