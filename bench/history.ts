import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatTable } from '../shared/text/format-table.ts'
import { type Latencies, summarise } from './latencies.ts'
import { type LoadRun, type LoadStage, openLoadStage } from './load-stage.ts'
import { describeMachine, saveResult } from './machine.ts'
import { compare, failWhenMissed, formatCompared } from './targets.ts'

export interface BenchHistoryOptions {
  /** The number of imported events: half in order of time, then half in random order. */
  events: number
  save: string
  print: (line: string) => void
}

interface Row extends LoadRun {
  name: string
  balances: Latencies
}

const YEARS_S = 5 * 365 * 86_400
const HOUR_S = 3_600
const IMPORT_S_MAX = 6 * 3_600
const PROBE_EVERY_MS = 200
const EVENTS_A_PROBE = 10
const PROBE_SETTLES_MS = 60_000

/**
 * Imports five years of history. During the import, events of those years are reported for a separate account, and its
 * balance is read five times a second. The balance must never show less usage than before, or more than was sent. At
 * the end all balances must be exact.
 */
export async function benchHistory({ events, save, print }: BenchHistoryOptions): Promise<void> {
  print(describeMachine())
  const stage = await openLoadStage()
  try {
    const rows: Row[] = []
    for (const shuffled of [false, true]) {
      const name = shuffled ? 'in no order' : 'in order of time'
      print(`importing ${events / 2} events ${name}`)
      const row = await importHistory(stage, events / 2, shuffled)
      print(`${await stage.requireExact()} balances are exactly what was acknowledged`)
      rows.push({ name, ...row })
    }
    const p50Ms = Math.max(...rows.map(({ balances }) => balances.p50Ms))
    const on = `${events.toLocaleString('en-US')} events`
    const compared = [compare({ measure: 'whileImporting', value: p50Ms / 1_000, on })]
    const headings = ['', 'events', 'took s', 'events/s', 'balances', 'p50 ms', 'p99 ms', 'max ms']
    const cells = rows.map(({ balances, ...row }) => [
      row.name,
      row.events.toLocaleString('en-US'),
      (row.loadS + row.drainS).toFixed(0),
      Math.round(row.sustainedPerS).toLocaleString('en-US'),
      String(balances.count),
      ...[balances.p50Ms, balances.p99Ms, balances.maxMs].map((ms) => ms.toFixed(0)),
    ])
    for (const line of formatTable(headings, cells, 1)) print(line)
    for (const line of formatCompared(compared)) print(line)
    await saveResult(save, { bench: 'history', events, rows, compared })
    failWhenMissed(compared)
  } finally {
    await stage.close()
  }
}

async function importHistory(
  stage: LoadStage,
  events: number,
  shuffled: boolean,
): Promise<LoadRun & { balances: Latencies }> {
  const endAt = Math.floor(Date.now() / 1_000) - HOUR_S
  const times = { kind: 'past', startAt: endAt - YEARS_S, endAt, events, shuffled } as const
  const ended = new AbortController()
  const probing = probeBalance(stage, times, ended.signal)
  const importing = stage
    .run({ seconds: IMPORT_S_MAX, requestsMax: Math.ceil(events / 1_000), times })
    .finally(() => {
      ended.abort()
    })
  const [run, balances] = await Promise.all([importing, probing])
  return { ...run, balances }
}

/**
 * Reports events and reads the balance in turn until it is stopped, then waits for the last events.
 *
 * @returns the durations of the reads
 * @throws Error when the balance is wrong
 */
async function probeBalance(
  { client, references }: LoadStage,
  { startAt, endAt }: { startAt: number; endAt: number },
  signal: AbortSignal,
): Promise<Latencies> {
  const [metric = ''] = references.metrics
  const { id: account } = await client.create<{ id: string }>('/v2/accounts', { name: 'probe' })
  const times: number[] = []
  let sent = 0
  let seen = 0
  const ask = async () => {
    const startedAt = performance.now()
    const body = await client.get<{ usage_total: string }>(
      `/v2/accounts/${account}/balance?metric_id=${metric}`,
    )
    times.push(performance.now() - startedAt)
    const used = Number(body.usage_total)
    if (used < seen) throw new Error(`a balance fell: ${seen} were used, now ${used}`)
    if (used > sent) throw new Error(`a balance ran ahead: ${sent} were sent, ${used} are used`)
    seen = used
  }
  while (!signal.aborted) {
    const startedAt = performance.now()
    const events = Array.from({ length: EVENTS_A_PROBE }, () => ({
      account_id: account,
      metric_id: metric,
      quantity: '1',
      occurred_at: startAt + Math.floor(Math.random() * (endAt - startAt)),
      idempotency_key: randomUUID(),
    }))
    sent += events.length
    await client.create('/v2/events/batch', { events })
    await ask()
    const leftMs = PROBE_EVERY_MS - (performance.now() - startedAt)
    await sleep(Math.max(0, leftMs), undefined, { signal }).catch(() => undefined)
  }
  const deadline = performance.now() + PROBE_SETTLES_MS
  while (seen < sent) {
    if (performance.now() > deadline)
      throw new Error(`a balance lacks usage: ${sent} were sent, ${seen} are used`)
    await sleep(PROBE_EVERY_MS)
    await ask()
  }
  return summarise(times)
}
