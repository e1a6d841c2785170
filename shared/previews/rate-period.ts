import { RATIO_ZERO } from '../amount/ratio.ts'
import { mergeRows, type ratedUsageReader } from '../clickhouse/usage/rated-usage.ts'
import type { Contract } from '../domain/billing/contract.ts'
import { type DailyLine, dailyLines } from '../domain/billing/daily-lines.ts'
import { invoiceOf } from '../domain/billing/invoice.ts'
import type { InvoicePlan } from '../domain/billing/plan.ts'
import type { PriceRecord } from '../domain/billing/price-record.ts'
import type { UsageRow } from '../domain/billing/rate-usage.ts'
import type { RatedPeriod } from '../domain/billing/rated-period.ts'
import { intersect, type TimeRange } from '../domain/time-range.ts'
import { yielder } from '../lifecycle/yielder.ts'
import { accountRepository } from '../postgres/accounts.ts'
import { completeUpTo } from '../postgres/complete-up-to.ts'
import { contractRepository } from '../postgres/contracts.ts'
import { inNamespace } from '../postgres/core/transaction.ts'
import { unixSeconds } from '../time/microsecond-clock.ts'
import type { PreviewDeps } from './preview-invoice.ts'
import { readAgreements } from './read-agreements.ts'

export type RatePeriodDeps = Pick<PreviewDeps, 'pool' | 'listedUpTo'> & {
  usage: Pick<ReturnType<typeof ratedUsageReader>, 'read'>
}

/**
 * Rates the period of a contract that contains the second `at`, by the end of each of its UTC days up to `now`. The
 * lines are those of previewInvoice.
 *
 * @param signal ends the wait for a permit to read usage, and the work between two steps
 * @returns undefined when there is no such contract
 * @throws DomainError unprocessable when `at` lies outside the contract
 */
export type RatePeriod = (
  namespaceId: string,
  request: { contractId: string; at: number; now: number },
  signal: AbortSignal,
) => Promise<RatedPeriod | undefined>

const DAY_S = 86_400
/** One statement splits usage by this many days. The work grows with the square of this number. */
const DAYS_AT_ONCE = 32

export function ratePeriod({ pool, usage, listedUpTo }: RatePeriodDeps): RatePeriod {
  return async (namespaceId, { contractId, at, now }, signal) => {
    const loadedUpTo = await listedUpTo() // first, so that the reads below include all events that were accepted before
    const read = await inNamespace(pool, namespaceId, async (db) => {
      const usageAsOf = unixSeconds(await completeUpTo(db, namespaceId, loadedUpTo))
      const contract = await contractRepository(db).find(namespaceId, contractId)
      if (contract === undefined) return undefined
      const account = await accountRepository(db).find(namespaceId, contract.accountId)
      const agreed = await readAgreements(db, namespaceId, [contract], () => at, now)
      return { usageAsOf, contract, customerId: account?.customerId ?? null, ...agreed }
    })
    const [plan] = read?.plans ?? []
    if (read === undefined || plan === undefined) return undefined
    const { contract, prices } = read
    const lines = await linesByDay(plan, prices, (days) =>
      readByDay(usage, namespaceId, { contract, plan, days }, signal),
    )
    return {
      contractId,
      accountId: contract.accountId,
      customerId: read.customerId,
      currency: contract.currency,
      period: plan.period,
      asOf: plan.asOf,
      usageAsOf: read.usageAsOf,
      changedAt: contract.updatedAt,
      lines,
    }
  }
}

/** Usage in the form of InvoiceReadings, for each day. */
type UsageByDay = ReadonlyMap<number, readonly UsageRow[]>[]

/**
 * Computes the invoice with the usage before the end of each day, and compares it with that of the day before. The days
 * of a period are read some at a time.
 */
async function linesByDay(
  plan: InvoicePlan,
  prices: ReadonlyMap<string, PriceRecord>,
  readDays: (days: readonly TimeRange[]) => Promise<UsageByDay>,
): Promise<DailyLine[]> {
  const days = daysOf(plan)
  const uncredited = { ...plan, creditLines: [] } // credit changes no line
  const pause = yielder()
  const soFar = new Map<number, readonly UsageRow[]>()
  const { lines, addDay } = dailyLines(plan.period)
  for (let from = 0; from < days.length; from += DAYS_AT_ONCE) {
    const some = days.slice(from, from + DAYS_AT_ONCE)
    for (const [index, ofDay] of (await readDays(some)).entries()) {
      if (pause.isDue()) await pause.yieldToOthers()
      for (const [piece, rows] of ofDay) soFar.set(piece, mergeRows([...(soFar.get(piece) ?? []), ...rows]))
      const readings = {
        usage: soFar,
        currencyUsage: RATIO_ZERO,
        grants: [],
        creditsWritten: new Map(),
        usageAsOf: 0,
      }
      const before = some[index]?.endAt ?? plan.asOf
      const invoice = invoiceOf(uncredited, prices, readings, plan.asOf)
      addDay({ before, invoice }, from + index === days.length - 1)
    }
  }
  return lines
}

/** The UTC days of a period up to `asOf`, of which the first and the last may be parts of days. There is always one. */
function daysOf({ period, asOf }: Pick<InvoicePlan, 'period' | 'asOf'>): TimeRange[] {
  const endAt = Math.max(Math.min(period.endAt, asOf), period.startAt + 1)
  const days: TimeRange[] = []
  for (let startAt = period.startAt; startAt < endAt;) {
    const midnight = (Math.floor(startAt / DAY_S) + 1) * DAY_S
    days.push({ startAt, endAt: Math.min(midnight, endAt) })
    startAt = midnight
  }
  return days
}

/** Reads the usage of all pieces, split by day. */
async function readByDay(
  usage: RatePeriodDeps['usage'],
  namespaceId: string,
  { contract, plan, days }: { contract: Contract; plan: InvoicePlan; days: readonly TimeRange[] },
  signal: AbortSignal,
): Promise<UsageByDay> {
  signal.throwIfAborted()
  const count = days.length
  // To the reader, each day of a piece is a piece of its own.
  const ranges = plan.usage.ranges.flatMap(({ piece, ...range }) =>
    days.flatMap((day, index) => {
      const part = intersect(range, day)
      return part === undefined ? [] : [{ piece: piece * count + index, ...part }]
    }),
  )
  const byDay = days.map(() => new Map<number, readonly UsageRow[]>())
  if (ranges.length === 0) return byDay
  const wanted = { contract, usage: { ranges, named: plan.usage.named }, creditBefore: 0 }
  const read = await usage.read(namespaceId, wanted, signal)
  for (const [part, rows] of read.usage) byDay[part % count]?.set(Math.floor(part / count), rows)
  return byDay
}
