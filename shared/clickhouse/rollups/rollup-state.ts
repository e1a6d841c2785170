import { clampRange, type TimeRange } from '../../domain/time-slot.ts'
import { dayOf, type RollupState } from '../../domain/usage-cover.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'

/** More dirty slots than this are read as whole days. */
const DIRTY_SLOTS_MAX = 1_000

// Each mark is counted by itself: two services may both cancel one, and what is one too few must not hide another mark. The
// day before the range may hold a mark of a whole day that reaches into it.
const STATE = (ofAccounts: string) => `
  WITH marks AS (
    SELECT whole_day, slot FROM usage_dirty_slots
    WHERE namespace_id = {namespaceId:String} ${ofAccounts}
      AND slot >= toDateTime({markFrom:UInt32}, 'UTC') AND slot < toDateTime({markTo:UInt32}, 'UTC')
    GROUP BY namespace_id, account_id, whole_day, slot, mark, stage HAVING sum(sign) > 0)
  SELECT
    toUnixTimestamp(now()) AS now, epoch, toUInt32(max(slot_s)) AS slot_s,
    toUnixTimestamp(max(closed_through)) AS closed_through,
    (SELECT groupUniqArrayIf(${DIRTY_SLOTS_MAX + 1})(toUnixTimestamp(slot), whole_day = 0) FROM marks) AS dirty_slots,
    (SELECT groupUniqArrayIf(toUnixTimestamp(toStartOfDay(slot)), whole_day = 0) FROM marks) AS days_of_slots,
    (SELECT groupUniqArrayIf(toUnixTimestamp(slot), whole_day = 1) FROM marks) AS dirty_days
  FROM rollup_epochs GROUP BY epoch HAVING max(state) = 1 ORDER BY epoch DESC LIMIT 1`
const OF_ACCOUNTS = 'AND account_id IN {accountIds:Array(String)}'

interface StateRow {
  now: number
  epoch: number
  slot_s: number
  closed_through: number
  dirty_slots: number[]
  days_of_slots: number[]
  dirty_days: number[]
}

/**
 * What of the rollups a reader of a range can rely on; to be read before the usage itself is.
 *
 * @param accountIds whose usage is read; undefined for that of all
 * @returns undefined when there are no rollups yet
 */
export async function readRollupState(
  client: ClickHouse,
  namespaceId: string,
  range: TimeRange,
  accountIds: readonly string[] | undefined,
): Promise<RollupState | undefined> {
  const { startAt, endAt } = clampRange(range)
  const [row] = await queryRows<StateRow>(client, STATE(accountIds === undefined ? '' : OF_ACCOUNTS), {
    namespaceId,
    markFrom: dayOf(startAt),
    markTo: endAt,
    ...(accountIds === undefined ? {} : { accountIds: ['', ...accountIds] }),
  })
  if (row === undefined) return undefined
  const tooMany = row.dirty_slots.length > DIRTY_SLOTS_MAX
  return {
    epoch: row.epoch,
    now: row.now,
    slotS: row.slot_s,
    closedThrough: row.closed_through,
    dirtySlots: tooMany ? [] : row.dirty_slots,
    dirtyDays: tooMany ? [...new Set([...row.dirty_days, ...row.days_of_slots])] : row.dirty_days,
  }
}
