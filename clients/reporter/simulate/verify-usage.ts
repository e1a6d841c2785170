import { setTimeout as sleep } from 'node:timers/promises'
import { addAmounts, compareAmounts, formatAmount } from '../../../shared/amount/amount.ts'
import { InFlight } from '../in-flight.ts'
import type { TallyResources } from '../tally-resources.ts'
import { type UsageTotal, UsageTotals } from './usage-totals.ts'

/** A half-open range of Unix seconds. */
export interface Range {
  startAt: number
  endAt: number
}

const SIDE_BY_SIDE = 8
const AGAIN_EVERY_MS = 250
const SETTLED_MS = 1_000

/** Reads Tally's totals of accounts: sum and count of every source. */
async function readTotals(
  resources: TallyResources,
  accountIds: readonly string[],
  range: Range,
): Promise<UsageTotals> {
  const totals = new UsageTotals()
  const inFlight = new InFlight(SIDE_BY_SIDE)
  for (const accountId of accountIds)
    await inFlight.add(async () => {
      const [sums, counts] = await Promise.all([
        resources.accountUsage(accountId, range, 'sum'),
        resources.accountUsage(accountId, range, 'count'),
      ])
      for (const { metric_id: metricId, currency, quantity } of sums) {
        const count = counts.find((line) => line.metric_id === metricId && line.currency === currency)
        totals.addTotal(accountId, metricId ?? currency ?? '', quantity, count?.quantity ?? '0')
      }
    })
  await inFlight.settle()
  return totals
}

/**
 * Reads totals once they no longer change. Events of an earlier run may be accepted but not counted yet. If they were
 * counted during this run, the totals at the end would seem too large.
 */
export async function readSettledTotals(
  resources: TallyResources,
  accountIds: readonly string[],
  range: Range,
  signal: AbortSignal,
): Promise<UsageTotals> {
  let totals = await readTotals(resources, accountIds, range)
  for (;;) {
    await sleep(SETTLED_MS, undefined, { signal })
    const next = await readTotals(resources, accountIds, range)
    if (accountIds.every((id) => differencesOf(id, totals, new UsageTotals(), next).length === 0)) return next
    totals = next
  }
}

/** A total that is wrong. */
export interface Difference {
  accountId: string
  source: string
  /** A message for people, with the right total and Tally's total. */
  text: string
}

export interface VerifyOptions {
  resources: TallyResources
  accountIds: readonly string[]
  range: Range
  /** The totals before the run. */
  before: UsageTotals
  /** The totals of the events that were sent. */
  sent: UsageTotals
  /** How long to wait for events that were just accepted. */
  waitMs: number
}

/**
 * Compares the sent events with Tally's totals, to the last digit. Accounts that differ are read again until all totals
 * are exact or the wait is over.
 */
export async function verifyUsage(options: VerifyOptions): Promise<Difference[]> {
  const { resources, range, before, sent, waitMs } = options
  const deadline = performance.now() + waitMs
  let { accountIds } = options
  for (;;) {
    const answered = await readTotals(resources, accountIds, range)
    const differences = accountIds.flatMap((accountId) => differencesOf(accountId, before, sent, answered))
    if (differences.length === 0 || performance.now() > deadline) return differences
    accountIds = [...new Set(differences.map(({ accountId }) => accountId))]
    await sleep(AGAIN_EVERY_MS)
  }
}

function differencesOf(
  accountId: string,
  before: UsageTotals,
  sent: UsageTotals,
  answered: UsageTotals,
): Difference[] {
  const sources = new Set([before, sent, answered].flatMap((totals) => totals.sourcesOf(accountId)))
  return [...sources].flatMap((source) => {
    const [old, more, is] = [before, sent, answered].map((totals) => totals.get(accountId, source)) as [
      UsageTotal,
      UsageTotal,
      UsageTotal,
    ]
    const should = { sum: addAmounts(old.sum, more.sum), count: old.count + more.count }
    if (compareAmounts(should.sum, is.sum) === 0 && should.count === is.count) return []
    return [{ accountId, source, text: `the sum should be ${show(should)}, but is ${show(is)}` }]
  })
}

const show = ({ sum, count }: UsageTotal): string => `${formatAmount(sum)} (${count} events)`
