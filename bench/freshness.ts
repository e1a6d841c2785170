import { randomUUID } from 'node:crypto'
import { probeVisibility } from '../clients/reporter/simulate/probe-visibility.ts'
import { formatTable } from '../shared/text/format-table.ts'
import { summarise } from './latencies.ts'
import { openLoadStage } from './load-stage.ts'
import { describeMachine, saveResult } from './machine.ts'
import { compare, formatCompared } from './targets.ts'

export interface BenchFreshnessOptions {
  seconds: number
  /** Events a second; default: half of what Tally sustains. */
  rate: number | undefined
  save: string
  print: (line: string) => void
}

const FULL_RATE_S = 15
const PROBE_EVERY_MS = 200

/**
 * Reports usage at half of the rate that Tally sustains. From time to time it reports one event of a separate account,
 * and reads that account's balance until the balance includes the event.
 */
export async function benchFreshness({ seconds, rate, save, print }: BenchFreshnessOptions): Promise<void> {
  print(describeMachine())
  const stage = await openLoadStage()
  try {
    const { client, references } = stage
    const half = rate ?? (await stage.run({ seconds: FULL_RATE_S })).sustainedPerS / 2
    const account = await client.create<{ id: string }>('/v2/accounts', { name: 'probe' })
    const ended = new AbortController()
    const times: number[] = []
    const probing = probeVisibility({
      ask: client.ask,
      accountId: account.id,
      metricId: references.metrics[0] ?? '',
      run: randomUUID(),
      everyMs: PROBE_EVERY_MS,
      signal: ended.signal,
      onVisible: (ms) => times.push(ms),
    })
    const loaded = stage.run({ seconds, rate: half }).finally(() => {
      ended.abort()
    })
    const [run] = await Promise.all([loaded, probing])
    print(`${await stage.requireExact()} balances are exactly what was acknowledged`)
    const visible = summarise(times)
    const on = `${Math.round(run.acceptedPerS).toLocaleString('en-US')} events/s`
    const compared = [compare({ measure: 'visible', value: visible.p99Ms / 1_000, on })]
    const cells = [visible.p50Ms, visible.p99Ms, visible.maxMs].map((ms) => (ms / 1_000).toFixed(2))
    for (const line of formatTable(
      ['accepted to visible', 'probes', 'p50 s', 'p99 s', 'max s'],
      [[on, String(visible.count), ...cells]],
      1,
    ))
      print(line)
    for (const line of formatCompared(compared)) print(line)
    await saveResult(save, { bench: 'freshness', seconds, rate: half, visible, run, compared })
  } finally {
    await stage.close()
  }
}
