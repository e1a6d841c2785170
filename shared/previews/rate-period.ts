import { RATIO_ZERO } from '../amount/ratio.ts'
import {
  mergeRows,
  type RatedPlan,
  type RatedUsage,
  type ratedUsageReader,
} from '../clickhouse/usage/rated-usage.ts'
import { type DailyLine, dailyLines } from '../domain/billing/daily-lines.ts'
import { invoiceOf } from '../domain/billing/invoice.ts'
import { countNamed } from '../domain/billing/named-values.ts'
import type { InvoicePlan } from '../domain/billing/plan.ts'
import type { PriceRecord } from '../domain/billing/price-record.ts'
import type { UsageRow } from '../domain/billing/rate-usage.ts'
import type { RatedPeriod } from '../domain/billing/rated-period.ts'
import type { ContractRecord } from '../domain/billing/stored-contract.ts'
import { DAY_S, intersect, type TimeRange } from '../domain/time-range.ts'
import { yielder } from '../lifecycle/yielder.ts'
import { accountRepository } from '../postgres/accounts.ts'
import { completeUpTo } from '../postgres/complete-up-to.ts'
import { contractRepository } from '../postgres/contracts.ts'
import { inNamespace } from '../postgres/core/transaction.ts'
import { type Micros, unixSeconds } from '../time/microsecond-clock.ts'
import type { PreviewDeps } from './preview-invoice.ts'
import { readAgreements } from './read-agreements.ts'

export type RatePeriodsDeps = Pick<PreviewDeps, 'pool' | 'listedUpTo'> & {
  usage: Pick<ReturnType<typeof ratedUsageReader>, 'readAll'>
}

/** The period of a contract that contains the second `at`. */
interface RatePeriodRequest {
  contractId: string
  at: number
}

/** Rates a period whose data was read. It resolves to undefined when there is no such contract. */
type RatePeriod = () => Promise<RatedPeriod | undefined>

/**
 * Rates periods of contracts, each by the end of each of its UTC days up to `now`. The lines are those of
 * previewInvoice.
 *
 * The usage of all periods is read together, because events are stored in the order of time: ClickHouse looks through
 * those of all accounts to find those of one.
 *
 * @param requests periods of about the same time; all usage between the first and the last is looked through
 * @param signal ends the wait for a permit to read usage, and the work between two steps
 * @returns for each period a function that rates it. If all at once would be too much, only for the first of them
 * @throws DomainError unprocessable when an `at` lies outside its contract
 */
export type RatePeriods = (
  namespaceId: string,
  requests: readonly RatePeriodRequest[],
  now: number,
  signal: AbortSignal,
) => Promise<RatePeriod[]>

/** About the most rows of usage that are in memory at once, unless a month of one contract has more. */
const ROWS_MAX = 20_000
/** A month that begins within a day has parts of 32 days. */
const DAYS_MIN = 32

export function ratePeriods({ pool, usage, listedUpTo }: RatePeriodsDeps): RatePeriods {
  return async (namespaceId, requests, now, signal) => {
    const loadedUpTo = await listedUpTo() // first, so that the reads below include all events that were accepted before
    const agreed: (Agreed | undefined)[] = []
    let rows = 0
    for (const request of requests) {
      const one = await readAgreed(pool, namespaceId, { ...request, now, loadedUpTo })
      rows += one === undefined ? 0 : one.days.length * one.rowsADay
      if (rows > ROWS_MAX && agreed.length > 0) break
      agreed.push(one)
    }
    const found = agreed.filter((one) => one !== undefined)
    const readAll = async (parts: readonly DaysOfPlan[]): Promise<UsageByDay[]> => {
      signal.throwIfAborted()
      const plans = parts.map(planOfDays)
      const read = await usage.readAll(namespaceId, plans.filter(needsUsage), signal)
      let nth = 0
      return plans.map((plan, index) =>
        byDay(needsUsage(plan) ? read[nth++] : undefined, parts[index]?.days.length ?? 0),
      )
    }
    const chunks = new Map(found.map((one) => [one, chunksOf(one)]))
    const first = await readAll(found.map((one) => ({ ...one, days: chunks.get(one)?.[0] ?? [] })))
    const firstOf = new Map(found.map((one, index) => [one, first[index] ?? []]))
    return agreed.map((one) => async () => {
      if (one === undefined) return undefined
      const lines = await linesByDay(one, chunks.get(one) ?? [], async (days, nth) =>
        nth === 0 ? (firstOf.get(one) ?? []) : ((await readAll([{ ...one, days }]))[0] ?? []),
      )
      firstOf.delete(one)
      return ratedPeriodOf(one, lines)
    })
  }
}

/** What PostgreSQL knows about a period. */
interface Agreed {
  usageAsOf: number
  contract: ContractRecord
  customerId: string | null
  plan: InvoicePlan
  prices: ReadonlyMap<string, PriceRecord>
  days: readonly TimeRange[]
  /** About how many rows of usage a day has at most. */
  rowsADay: number
}

const readAgreed = (
  pool: PreviewDeps['pool'],
  namespaceId: string,
  { contractId, at, now, loadedUpTo }: RatePeriodRequest & { now: number; loadedUpTo: Micros },
): Promise<Agreed | undefined> =>
  inNamespace(pool, namespaceId, async (db) => {
    const usageAsOf = unixSeconds(await completeUpTo(db, namespaceId, loadedUpTo))
    const contract = await contractRepository(db).find(namespaceId, contractId)
    if (contract === undefined) return undefined
    const account = await accountRepository(db).find(namespaceId, contract.accountId)
    const { plans, prices } = await readAgreements(db, namespaceId, [contract], () => at, now)
    const [plan] = plans
    if (plan === undefined) return undefined
    return {
      usageAsOf,
      contract,
      customerId: account?.customerId ?? null,
      plan,
      prices,
      days: daysOf(plan),
      rowsADay: 1 + countNamed(plan.usage.named),
    }
  })

const ratedPeriodOf = (
  { contract, customerId, plan, usageAsOf }: Agreed,
  lines: RatedPeriod['lines'],
): RatedPeriod => ({
  contractId: contract.id,
  accountId: contract.accountId,
  customerId,
  currency: contract.currency,
  period: plan.period,
  asOf: plan.asOf,
  usageAsOf,
  changedAt: contract.updatedAt,
  lines,
})

/** Usage in the form of InvoiceReadings, for each day. */
type UsageByDay = readonly ReadonlyMap<number, readonly UsageRow[]>[]

/**
 * Computes the invoice with the usage before the end of each day, and compares it with that of the day before.
 *
 * @param chunks the days of the period, those together that are read together
 */
async function linesByDay(
  { plan, prices }: Pick<Agreed, 'plan' | 'prices'>,
  chunks: readonly (readonly TimeRange[])[],
  readDays: (days: readonly TimeRange[], nth: number) => Promise<UsageByDay>,
): Promise<DailyLine[]> {
  const uncredited = { ...plan, creditLines: [] } // credit changes no line
  const pause = yielder()
  const soFar = new Map<number, readonly UsageRow[]>()
  const { lines, addDay } = dailyLines(plan.period)
  for (const [nth, days] of chunks.entries()) {
    for (const [index, ofDay] of (await readDays(days, nth)).entries()) {
      if (pause.isDue()) await pause.yieldToOthers()
      for (const [piece, rows] of ofDay) soFar.set(piece, mergeRows([...(soFar.get(piece) ?? []), ...rows]))
      const readings = {
        usage: soFar,
        currencyUsage: RATIO_ZERO,
        grants: [],
        creditsWritten: new Map(),
        usageAsOf: 0,
      }
      const before = days[index]?.endAt ?? plan.asOf
      const invoice = invoiceOf(uncredited, prices, readings, plan.asOf)
      addDay({ before, invoice }, nth === chunks.length - 1 && index === days.length - 1)
    }
  }
  return lines
}

/** The days of a period, in parts that are not too large to be in memory. There is at least one part. */
function chunksOf({ days, rowsADay }: Pick<Agreed, 'days' | 'rowsADay'>): TimeRange[][] {
  const atOnce = Math.max(DAYS_MIN, Math.floor(ROWS_MAX / rowsADay))
  const count = Math.ceil(days.length / atOnce)
  return Array.from({ length: count }, (_, nth) => days.slice(nth * atOnce, (nth + 1) * atOnce))
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

/** Some days of a plan. */
type DaysOfPlan = Pick<Agreed, 'contract' | 'plan' | 'days'>

/** The plan for the reader, to whom each day of a piece is a piece of its own. */
const planOfDays = ({ contract, plan, days }: DaysOfPlan): RatedPlan => ({
  contract,
  usage: {
    ranges: plan.usage.ranges.flatMap(({ piece, ...range }) =>
      days.flatMap((day, index) => {
        const part = intersect(range, day)
        return part === undefined ? [] : [{ piece: piece * days.length + index, ...part }]
      }),
    ),
    named: plan.usage.named,
  },
  creditBefore: 0,
})

const needsUsage = ({ usage }: RatedPlan): boolean => usage.ranges.length > 0

/** The usage of a plan of planOfDays, by day and by the pieces of the period. */
function byDay(read: RatedUsage | undefined, count: number): UsageByDay {
  const days = Array.from({ length: count }, () => new Map<number, readonly UsageRow[]>())
  for (const [part, rows] of read?.usage ?? []) days[part % count]?.set(Math.floor(part / count), rows)
  return days
}
