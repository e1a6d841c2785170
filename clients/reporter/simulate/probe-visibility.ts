import { setTimeout as sleep } from 'node:timers/promises'
import {
  addAmounts,
  type Amount,
  amountFromDatabase,
  compareAmounts,
  parseAmount,
} from '../../../shared/amount/amount.ts'
import type { Ask } from '../../core/ask.ts'
import { reportBatch } from '../report-batch.ts'
import { tallyResources } from '../tally-resources.ts'

export interface ProbeOptions {
  ask: Ask
  accountId: string
  metricId: string
  /** A part of each probe's idempotency key, so that each run has its own keys. */
  run: string
  /** Milliseconds from the start of one probe to the start of the next. */
  everyMs: number
  signal: AbortSignal
  /** Called with the milliseconds from the acceptance of a probe until a balance showed it. */
  onVisible: (ms: number) => void
}

const POLL_MS = 20
const SETTLED_MS = 500
const ONE = parseAmount('1')

/**
 * Measures how fresh balances are. Now and then it reports an event of quantity 1, and reads the balance until the
 * event is in it. Reading takes time as well, so the result is never shorter than the true time.
 *
 * @returns when the signal is aborted; a running probe is dropped
 */
export async function probeVisibility(options: ProbeOptions): Promise<void> {
  const { signal, everyMs, onVisible } = options
  const usageTotal = async () =>
    amountFromDatabase(await tallyResources(options.ask).usageTotal(options.accountId, options.metricId))
  let total = await settledTotal(usageTotal, signal)
  for (let n = 1; !signal.aborted; n++) {
    const startedAt = performance.now()
    await reportProbe(options, n)
    const acceptedAt = performance.now()
    total = addAmounts(total, ONE)
    const visible = await waitForTotal(usageTotal, total, signal)
    if (visible) onVisible(performance.now() - acceptedAt)
    await pause(everyMs - (performance.now() - startedAt), signal)
  }
}

async function reportProbe({ ask, accountId, metricId, run }: ProbeOptions, n: number): Promise<void> {
  const event = {
    account_id: accountId,
    metric_id: metricId,
    quantity: '1',
    occurred_at: Math.floor(Date.now() / 1_000),
    idempotency_key: `probe-${run}-${n}`,
  }
  const { refused } = await reportBatch(ask, [{ json: JSON.stringify(event) }])
  if (refused[0] !== undefined) throw new Error(`a probe was refused: ${refused[0].reason}`)
}

/**
 * Waits until all probes of an earlier run are counted. Otherwise an old probe that is counted late could be taken for
 * a new one.
 */
async function settledTotal(usageTotal: () => Promise<Amount>, signal: AbortSignal): Promise<Amount> {
  let total = await usageTotal()
  for (;;) {
    await pause(SETTLED_MS, signal)
    const next = await usageTotal()
    if (compareAmounts(next, total) === 0 || signal.aborted) return next
    total = next
  }
}

async function waitForTotal(
  usageTotal: () => Promise<Amount>,
  wanted: Amount,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted) {
    if (compareAmounts(await usageTotal(), wanted) >= 0) return true
    await pause(POLL_MS, signal)
  }
  return false
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(Math.max(ms, 0), undefined, { signal }).catch(() => undefined)
