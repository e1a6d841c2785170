import { addAmounts, amountFromDatabase, ZERO, type Amount } from '../../amount/amount.ts'
import { slotOf } from '../../domain/time-slot.ts'
import { occurredAtOfEventId, type UsageSource } from '../../domain/usage-event.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'
import { IDS_AT_ONCE } from '../usage-events.ts'
import { MARK_KIND, PENDING } from './dirty-slots.ts'
import { timesOf } from './times-of.ts'

/** Usage of accounts, by account and source. */
export type SumsByAccount = ReadonlyMap<string, ReadonlyMap<UsageSource, Amount>>

/** An account's sum of a place, as it is read. An account and source may have several. */
export interface SumRow {
  account_id: string
  source: string
  total: string
}

/** At most so many events of one read are looked up one by one, as their insert may not be through. */
const UNSURE_MAX = 10_000
/** How often it is begun anew when an insert began meanwhile. */
const TRIES = 5
/** A server takes 128 KiB a parameter. */
const PENDING_MAX = 2_000

const OF_ACCOUNTS = 'namespace_id = {namespaceId:String} AND account_id IN {accountIds:Array(String)}'

// Days of which something else counts than history: known where a day was computed from the events, assumed elsewhere. Rows that were
// replaced and not merged yet are taken in: then more is read from the events, which is right as well.
const OTHER_DAYS = `
  SELECT DISTINCT toUnixTimestamp(toDateTime(day, 'UTC')) AS at FROM usage_by_day
  WHERE epoch = {epoch:UInt32} AND ${OF_ACCOUNTS} AND day >= {dayFrom:Date} AND day <= {dayTo:Date} AND others > 0`

const PENDING_MARKS = `
  SELECT DISTINCT toString(mark) AS mark FROM (
    SELECT mark FROM usage_dirty_slots
    WHERE namespace_id = {namespaceId:String} AND account_id IN {accountsOrAll:Array(String)}
      AND whole_day >= ${MARK_KIND.dayOfHistory} AND stage = ${PENDING}
    GROUP BY namespace_id, account_id, whole_day, slot, mark, stage HAVING sum(sign) > 0)`

// Each event as its newest row has it; those whose newest row may not be among the events yet are told by their ids.
const SUMS = `
  SELECT account_id, source, toString(sumIf(toDecimal256(quantity, 18), counts)) AS total,
    toUInt32(countIf(counts)) AS events, groupArrayIf(${UNSURE_MAX + 1})(lower(hex(id)), is_unsure) AS unsure
  FROM (
    SELECT account_id, source, id, quantity, insert_mark IN {pending:Array(UInt64)} AS is_unsure,
      NOT is_unsure AND voided = 0 AS counts
    FROM usage_history FINAL
    PREWHERE ${OF_ACCOUNTS} AND toDate(occurred_at) IN {days:Array(Date)})
  GROUP BY account_id, source`

// What counts of some events, as the events have it.
const STORED = `
  SELECT account_id, source, toString(sum(toDecimal256(tupleElement(newest, 1), 18))) AS total FROM (
    SELECT account_id, source, argMax((quantity, voided), version) AS newest FROM usage_events
    PREWHERE ${OF_ACCOUNTS} AND toStartOfFiveMinutes(occurred_at) IN ${timesOf('slots')}
      AND id IN arrayMap(text -> unhex(text), {ids:Array(String)})
    GROUP BY account_id, source, id)
  WHERE tupleElement(newest, 2) = 0 GROUP BY account_id, source`

/** Reads usage of long ago where it is in order of accounts, while rollups of its days are not to be relied upon (decision 17). */
export function usageHistory(client: ClickHouse) {
  const listPending = async (namespaceId: string, accountIds: readonly string[]): Promise<string[]> => {
    const params = { namespaceId, accountsOrAll: ['', ...accountIds] }
    const rows = await queryRows<{ mark: string }>(client, PENDING_MARKS, params)
    return rows.map(({ mark }) => mark)
  }

  const sumStored = async (
    namespaceId: string,
    accountIds: readonly string[],
    ids: readonly string[],
  ): Promise<SumRow[]> => {
    const rows: SumRow[] = []
    for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
      const some = ids.slice(start, start + IDS_AT_ONCE)
      const slots = [...new Set(some.map((id) => slotOf(occurredAtOfEventId(`event_${id}`))))]
      const params = { namespaceId, accountIds, slots, ids: some }
      rows.push(...(await queryRows<SumRow>(client, STORED, params)))
    }
    return rows
  }

  return {
    /**
     * Of which days of history something else counts, too: they are to be read from the events.
     *
     * @param days that have marks of history alone; the marks are to be read before
     */
    async listDaysWithOthers(
      epoch: number,
      namespaceId: string,
      accountIds: readonly string[],
      days: readonly number[],
    ): Promise<number[]> {
      const rows = await queryRows<{ at: number }>(client, OTHER_DAYS, {
        epoch,
        namespaceId,
        accountIds,
        dayFrom: isoDay(Math.min(...days)),
        dayTo: isoDay(Math.max(...days)),
      })
      const asked = new Set(days)
      return rows.map(({ at }) => at).filter((day) => asked.has(day))
    },

    /**
     * What the history of these days adds up to.
     *
     * What is in order of accounts was stored there first. So whatever an insert that is not through has left there is asked of the
     * events: which inserts those are is read before, and again after, as one may have begun in between.
     *
     * @param pendingBefore marks of inserts of history that were not through before
     * @returns undefined when there is too much of which it is not known
     */
    async sumDays(
      namespaceId: string,
      accountIds: readonly string[],
      days: readonly number[],
      pendingBefore: readonly string[],
    ): Promise<SumRow[] | undefined> {
      let pending = pendingBefore
      for (let tries = 0; tries < TRIES && pending.length <= PENDING_MAX; tries++) {
        const rows = await queryRows<SumRow & { events: number; unsure: string[] }>(client, SUMS, {
          namespaceId,
          accountIds,
          days: days.map(isoDay),
          pending: pending.map(BigInt),
        })
        const unsure = rows.flatMap((row) => row.unsure)
        if (unsure.length > UNSURE_MAX) return undefined
        const [stored, pendingNow] = await Promise.all([
          sumStored(namespaceId, accountIds, unsure),
          listPending(namespaceId, accountIds),
        ])
        if (pendingNow.every((mark) => pending.includes(mark)))
          return [...rows.filter(({ events }) => events > 0), ...stored]
        pending = pendingNow
      }
      return undefined
    },
  }
}

/** Adds up rows, of which an account and source may have several. */
export function sumsOf(rows: readonly SumRow[]): SumsByAccount {
  const sums = new Map<string, Map<UsageSource, Amount>>()
  for (const { account_id: accountId, source, total } of rows) {
    const known = sums.get(accountId) ?? new Map<UsageSource, Amount>()
    sums.set(accountId, known.set(source, addAmounts(known.get(source) ?? ZERO, amountFromDatabase(total))))
  }
  return sums
}

export const isoDay = (second: number): string => new Date(second * 1_000).toISOString().slice(0, 10)
