import { addAmounts, type Amount, ZERO } from '../../../shared/amount/amount.ts'
import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import { type Balance, balanceOf } from '../../../shared/domain/balance.ts'
import { periodStartsIn } from '../../../shared/domain/period.ts'
import { ALL_TIME, DAY_S, type TimeRange } from '../../../shared/domain/time-range.ts'
import type { UsageSource } from '../../../shared/domain/usage-source.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { type GrantChanges, readGrantChanges } from '../../../shared/postgres/grant-changes.ts'
import { requireKnown } from '../usage/require-known.ts'
import { requireFewDays, requireForwards } from '../usage/usage-query.ts'

/** The balance at the end of a UTC day, or now. */
interface DayBalance extends Balance {
  /** The start of the day, in Unix seconds. */
  startAt: number
}

export type DailyBalance = (
  namespaceId: string,
  asked: { accountId: string; source: UsageSource; range: TimeRange; now: Date },
) => Promise<DayBalance[]>

/**
 * The balances of one account and source by UTC day, for each day that overlaps the range, up to the day of now. Each is
 * that at the end of the day. That of the day of now is the balance now, with all usage ever.
 *
 * @throws DomainError unprocessable when the range is empty or reversed, malformed when it is too long, not_found when
 *   there is no such account or metric
 */
export function dailyBalance(
  pool: Pool,
  reads: Pick<BatchedReads, 'findAccount'>,
  usage: Pick<UsageReader, 'aggregate' | 'aggregateByPeriod'>,
): DailyBalance {
  const requireBoth = requireKnown(pool, reads)
  return async (namespaceId, { accountId, source, range, now }) => {
    requireForwards(range)
    requireFewDays(range)
    const nowS = Math.floor(now.getTime() / 1_000)
    const days = periodStartsIn('day', range).filter((day) => day <= nowS)
    const known = requireBoth(namespaceId, { accountId, source })
    const [first, last] = [days[0], days.at(-1)]
    if (first === undefined || last === undefined) {
      await known
      return []
    }
    const hasNow = last + DAY_S > nowS
    const selection = { accountId, source, measures: ['sum'] as const }
    const end = hasNow ? ALL_TIME.endAt : last + DAY_S
    const [grants, before, byDay] = await Promise.all([
      inNamespace(pool, namespaceId, (db) =>
        readGrantChanges(db, namespaceId, {
          ...{ accountId, source, at: now },
          ...{ firstDay: first / DAY_S, lastDay: last / DAY_S },
        }),
      ),
      usage.aggregate(namespaceId, { ...selection, range: { startAt: 0, endAt: first } }),
      usage.aggregateByPeriod(namespaceId, 'day', { ...selection, range: { startAt: first, endAt: end } }),
      known,
    ])
    const used = new Map([...byDay].map(([day, ofDay]) => [day, ofDay.get(source)?.sum ?? ZERO]))
    const totals = totalsOf(days, { grants, usedBefore: before.get(source)?.sum ?? ZERO, used, hasNow })
    return totals.map(({ startAt, granted, usedTotal }) => ({
      startAt,
      ...balanceOf(accountId, source, granted, usedTotal),
    }))
  }
}

interface Read {
  grants: GrantChanges
  usedBefore: Amount
  /** Usage by day; days after the last day that is answered belong to that day. */
  used: ReadonlyMap<number, Amount>
  /** Whether the last day is the day of now. */
  hasNow: boolean
}

/** Adds up grants and usage, day by day. */
function totalsOf(days: readonly number[], { grants, usedBefore, used, hasNow }: Read) {
  let [granted, usedTotal] = [ZERO, usedBefore]
  const last = days.at(-1)
  return days.map((startAt) => {
    granted = addAmounts(granted, grants.byDay.get(startAt / DAY_S) ?? ZERO)
    usedTotal = addAmounts(usedTotal, used.get(startAt) ?? ZERO)
    if (!hasNow || startAt !== last) return { startAt, granted, usedTotal }
    const later = [...used].filter(([day]) => day > startAt).map(([, sum]) => sum)
    return { startAt, granted: grants.inForce, usedTotal: later.reduce(addAmounts, usedTotal) }
  })
}
