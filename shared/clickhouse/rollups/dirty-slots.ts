import { nameOfAccount } from '../../domain/account-key.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'

/** What the column kind says of a row: it is a mark of a slot, or of a whole day … */
export const MARK_KIND = { slot: 0, day: 1 } as const
/** … or no mark, but the late count of an account: how often marks of it were inserted. It only grows. */
const COUNT_KIND = 2
type MarkKind = keyof typeof MARK_KIND

export const IS_MARK = `kind < ${COUNT_KIND}`
export const IS_OF_SLOT = `kind = ${MARK_KIND.slot}`
export const IS_OF_DAY = `kind = ${MARK_KIND.day}`

/**
 * Ends a select of marks: of those that stand. Changes are added up by insert, not by slot: when two services both
 * cancel a mark its sum is -1, which must not hide another mark of the slot.
 */
export const STANDS = `
  GROUP BY namespace_id, account_id, kind, slot, insert_id, stage HAVING sum(change) > 0`

/** A slot, or a whole day, whose rollups may lack events. */
export interface DirtySlot {
  namespaceId: string
  /** Empty: of all accounts. */
  accountId: string
  /** Unix seconds: the start of the slot or of the day. */
  slot: number
  kind: MarkKind
}

/** The marks of one insert of usage, which were placed together, as they were read. */
export interface MarkedInsert {
  /** An unsigned number of 64 bits, as text. */
  insertId: string
  stage: Stage
}

const PENDING = 0
const READY = 1
export type Stage = typeof PENDING | typeof READY

export interface OldestMark {
  marks: number
  /** Unix seconds. */
  placedAt: number
}

/** When marks are worked off, in seconds. */
export interface MarksAfter {
  /** Pending ones, whose loader fell silent. */
  orphanS: number
  /** All of them, once the oldest that can be worked off was placed so long ago. */
  lateAfterS: number
}

const STANDING = `
  SELECT insert_id, stage, any(placed_at) AS placed_at FROM usage_dirty_slots WHERE ${IS_MARK} ${STANDS}`

// A pending mark whose loader was killed counts as ready after a while: the loader that took its place has placed its
// own. Marks gather until the oldest that can be worked off is of some age: what a round costs is much the same for one
// and for hundreds. When even the oldest is of a time to come, as the clock was set back, nothing is waited for.
const LIST_READY = `
  SELECT toString(insert_id) AS insertId, stage FROM (
    SELECT insert_id, stage, min(placed_at) AS placed_at,
      stage = ${READY} OR placed_at < now() - toIntervalSecond({orphanS:UInt32}) AS is_ready,
      minIf(placed_at, is_ready) OVER () AS oldest
    FROM (${STANDING}) GROUP BY insert_id, stage)
  WHERE is_ready AND (oldest <= now() - toIntervalSecond({lateAfterS:UInt32}) OR oldest > now())
  ORDER BY placed_at, insert_id LIMIT {limit:UInt32}`

const LIST_READY_FROM = `
  SELECT DISTINCT toString(insert_id) AS insertId, stage FROM usage_dirty_slots
  WHERE stage = ${READY} AND ${IS_OF_SLOT} AND slot >= toDateTime({slotFrom:UInt32}, 'UTC') ${STANDS}`

const OLDEST = `
  SELECT stage, toString(uniqExact(insert_id)) AS marks, toUnixTimestamp(min(placed_at)) AS oldest FROM (${STANDING})
  GROUP BY stage`

const OF_MARKS = `${IS_MARK} AND ((insert_id IN {readyInserts:Array(UInt64)} AND stage = ${READY}) OR (insert_id IN {orphans:Array(UInt64)} AND stage = ${PENDING}))`

/**
 * What still stands of the marks a statement is about: their namespaces, accounts, slots and kinds. Params: markParams.
 */
export const MARKED = `(
  SELECT namespace_id, account_id, kind, slot FROM usage_dirty_slots WHERE ${OF_MARKS} ${STANDS})`

/** The values of MARKED. */
export const markParams = (marks: readonly MarkedInsert[]) => ({
  readyInserts: marks.filter(({ stage }) => stage === READY).map(({ insertId }) => BigInt(insertId)),
  orphans: marks.filter(({ stage }) => stage === PENDING).map(({ insertId }) => BigInt(insertId)),
})

const CANCEL = `
  INSERT INTO usage_dirty_slots (namespace_id, account_id, kind, slot, insert_id, stage, placed_at, change)
  SELECT namespace_id, account_id, kind, slot, insert_id, stage, any(placed_at), -1 FROM usage_dirty_slots
  WHERE ${OF_MARKS}
    AND slot >= toDateTime({slotFrom:UInt32}, 'UTC') ${STANDS}`

// Repairs marks that two services cancelled at once. Left alone their sum stays -1 for good and is read by everybody,
// but hides nothing, as the marks of each insert have a number of their own. Two services that repair at once leave the
// mark standing, and it is worked off once more.
const REPAIR = `
  INSERT INTO usage_dirty_slots (namespace_id, account_id, kind, slot, insert_id, stage, placed_at, change)
  SELECT namespace_id, account_id, kind, slot, insert_id, stage, any(placed_at) AS placed_at, -sum(change) FROM usage_dirty_slots
  WHERE ${IS_MARK} GROUP BY namespace_id, account_id, kind, slot, insert_id, stage
  HAVING sum(change) < 0 AND placed_at < now() - toIntervalSecond({olderThanS:UInt32})`

const OF_ACCOUNTS = `
  namespace_id IN {namespaceIds:Array(String)} AND account_id IN arrayPushBack({accountIds:Array(String)}, '')`

/**
 * Late counts of accounts, as `part` "late". Under the empty id is what was marked for all accounts of a namespace at
 * once.
 */
export const LATE_COUNTS = `
  SELECT namespace_id, account_id, '' AS source, 'late' AS part, toString(sum(change)) AS total
  FROM usage_dirty_slots WHERE kind = ${COUNT_KIND} AND ${OF_ACCOUNTS} GROUP BY namespace_id, account_id`

/**
 * The same, and as "marked" one row of each account of which a mark stands. Both are of one moment, as the table is
 * named once: who sees that a mark was counted sees the mark, if it stands.
 */
export const LATE_COUNTS_AND_MARKS = `
  SELECT namespace_id, account_id, '' AS source, if(${IS_MARK}, 'marked', 'late') AS part, toString(sum(change)) AS total
  FROM usage_dirty_slots WHERE ${OF_ACCOUNTS} ${STANDS} LIMIT 1 BY namespace_id, account_id, part`

const COLUMNS = [
  'namespace_id',
  'account_id',
  'kind',
  'slot',
  'insert_id',
  'stage',
  'placed_at',
  'change',
] as const

/** Marks of late usage. */
export const dirtySlotRepository = (client: ClickHouse) => {
  const insert = async (
    slots: readonly DirtySlot[],
    insertId: string,
    placedAt: number,
    changes: readonly { stage: Stage; change: 1 | -1 }[],
  ): Promise<void> => {
    const marks = slots.flatMap((one) =>
      changes.map(({ stage, change }) => ({
        namespace_id: one.namespaceId,
        account_id: one.accountId,
        kind: MARK_KIND[one.kind],
        slot: one.slot,
        insert_id: insertId,
        stage,
        placed_at: placedAt,
        change,
      })),
    )
    // Once as marks are placed, and again as they are turned ready: pending ones whose loader fell silent may be worked
    // off before it stores their rows after all.
    const counts = [...new Map(slots.map((one) => [nameOfAccount(one), one])).values()].map((one) => ({
      namespace_id: one.namespaceId,
      account_id: one.accountId,
      kind: COUNT_KIND,
      slot: 0,
      insert_id: '0',
      stage: 0,
      placed_at: 0,
      change: 1,
    }))
    await client.insert({
      table: 'usage_dirty_slots',
      // In this order: should ClickHouse ever store them one after the other, none is counted that cannot be seen.
      values: [...marks, ...counts],
      columns: [...COLUMNS],
      format: 'JSONEachRow',
    })
  }
  return {
    /**
     * Before late rows are inserted.
     *
     * @param insertId tells these marks from all others: random
     * @param placedAt Unix seconds, by the clock of ClickHouse
     */
    placePending: (slots: readonly DirtySlot[], insertId: string, placedAt: number) =>
      insert(slots, insertId, placedAt, [{ stage: PENDING, change: 1 }]),

    /** After they are: in one insert, so that no reader finds neither. */
    turnReady: (slots: readonly DirtySlot[], insertId: string, placedAt: number) =>
      insert(slots, insertId, placedAt, [
        { stage: PENDING, change: -1 },
        { stage: READY, change: 1 },
      ]),

    /** Of slots that ended while their rows were inserted. */
    placeReady: (slots: readonly DirtySlot[], insertId: string, placedAt: number) =>
      insert(slots, insertId, placedAt, [{ stage: READY, change: 1 }]),

    /**
     * Those that can be worked off, the oldest first; none until the oldest is lateAfterS old, so that one round works
     * off many.
     */
    listReady: ({ orphanS, lateAfterS }: MarksAfter, limit: number): Promise<MarkedInsert[]> =>
      queryRows<MarkedInsert>(client, LIST_READY, { orphanS, lateAfterS, limit }),

    /** Inserts with ready marks of slots from this one on. */
    listReadyFrom: (slotFrom: number): Promise<MarkedInsert[]> =>
      queryRows<MarkedInsert>(client, LIST_READY_FROM, { slotFrom }),

    /**
     * How many inserts have marks that stand, and when the oldest was placed, in Unix seconds: of inserts that are
     * through, and of those that are not.
     */
    async findOldest(): Promise<{ stored: OldestMark | undefined; pending: OldestMark | undefined }> {
      const rows = await queryRows<{ stage: Stage; marks: string; oldest: number }>(client, OLDEST, {})
      const of = (stage: Stage): OldestMark | undefined => {
        const row = rows.find((one) => one.stage === stage)
        return row && { marks: Number(row.marks), placedAt: row.oldest }
      }
      return { stored: of(READY), pending: of(PENDING) }
    },

    /**
     * Exactly these; one that was turned ready meanwhile stays.
     *
     * @param slotFrom only what they tell of slots from this one on
     */
    async cancel(marks: readonly MarkedInsert[], slotFrom = 0): Promise<void> {
      await client.command({ query: CANCEL, query_params: { ...markParams(marks), slotFrom } })
    },

    /**
     * Repairs marks that were cancelled more than once.
     *
     * @param olderThanS of those that were placed at least so many seconds ago
     */
    async repair(olderThanS: number): Promise<void> {
      await client.command({ query: REPAIR, query_params: { olderThanS } })
    },
  }
}
