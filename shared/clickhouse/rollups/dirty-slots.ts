import { nameOfAccount } from '../../domain/account-key.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'

/** Values of the column `kind` for marks of a slot and of a whole day. Rows of COUNT_KIND are no marks. */
export const MARK_KIND = { slot: 0, day: 1 } as const
/** Rows of this kind add up to the late count of an account: how often marks of the account were inserted. */
const COUNT_KIND = 2
type MarkKind = keyof typeof MARK_KIND

export const IS_MARK = `kind < ${COUNT_KIND}`
export const IS_OF_SLOT = `kind = ${MARK_KIND.slot}`
export const IS_OF_DAY = `kind = ${MARK_KIND.day}`

/**
 * The end of a SELECT of marks: keeps the marks that are not cancelled. Changes are added up for each insert, not only
 * for each slot. When two services cancel the same mark, its changes add up to -1, and that must not hide the mark of
 * another insert for the slot.
 */
export const STANDS = `
  GROUP BY namespace_id, account_id, kind, slot, insert_id, stage HAVING sum(change) > 0`

/** A slot, or a whole day, whose rollups may lack events. */
export interface DirtySlot {
  namespaceId: string
  /** Empty if the mark is of all accounts. */
  accountId: string
  /** Unix seconds: the start of the slot or of the day. */
  slot: number
  kind: MarkKind
}

/** The marks that one insert of usage placed together. */
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

/** The ages, in seconds, at which marks are worked off. */
export interface MarksAfter {
  /** A pending mark of this age counts as ready, because its loader must have stopped. */
  orphanS: number
  /** No mark is worked off before the oldest ready mark is this old. */
  lateAfterS: number
}

const STANDING = `
  SELECT insert_id, stage, any(placed_at) AS placed_at FROM usage_dirty_slots WHERE ${IS_MARK} ${STANDS}`

// A pending mark of age orphanS counts as ready: its loader was killed, and the loader that took over has placed marks
// of its own. Ready marks wait until the oldest of them reaches the age lateAfterS, because a round costs about as much
// for one mark as for hundreds. They do not wait if the oldest mark is from the future, because the clock was set back.
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
 * The marks that a statement works off, without cancelled ones: their namespaces, accounts, slots and kinds. The
 * parameters are those of markParams.
 */
export const MARKED = `(
  SELECT namespace_id, account_id, kind, slot FROM usage_dirty_slots WHERE ${OF_MARKS} ${STANDS})`

/** The parameters of MARKED. */
export const markParams = (marks: readonly MarkedInsert[]) => ({
  readyInserts: marks.filter(({ stage }) => stage === READY).map(({ insertId }) => BigInt(insertId)),
  orphans: marks.filter(({ stage }) => stage === PENDING).map(({ insertId }) => BigInt(insertId)),
})

const CANCEL = `
  INSERT INTO usage_dirty_slots (namespace_id, account_id, kind, slot, insert_id, stage, placed_at, change)
  SELECT namespace_id, account_id, kind, slot, insert_id, stage, any(placed_at), -1 FROM usage_dirty_slots
  WHERE ${OF_MARKS}
    AND slot >= toDateTime({slotFrom:UInt32}, 'UTC') ${STANDS}`

// Repairs marks that two services cancelled at once. Without a repair, the changes of such a mark add up to -1 for
// ever, and every reader has to read them. They hide no other mark, because each insert has a number of its own. If two
// services repair a mark at once, its sum becomes 1, and it is worked off once more.
const REPAIR = `
  INSERT INTO usage_dirty_slots (namespace_id, account_id, kind, slot, insert_id, stage, placed_at, change)
  SELECT namespace_id, account_id, kind, slot, insert_id, stage, any(placed_at) AS placed_at, -sum(change) FROM usage_dirty_slots
  WHERE ${IS_MARK} GROUP BY namespace_id, account_id, kind, slot, insert_id, stage
  HAVING sum(change) < 0 AND placed_at < now() - toIntervalSecond({olderThanS:UInt32})`

const OF_ACCOUNTS = `
  namespace_id IN {namespaceIds:Array(String)} AND account_id IN arrayPushBack({accountIds:Array(String)}, '')`

/**
 * Late counts of accounts, with `part` = "late". The row with an empty account id counts the marks that are of all
 * accounts of a namespace.
 */
export const LATE_COUNTS = `
  SELECT namespace_id, account_id, '' AS source, 'late' AS part, toString(sum(change)) AS total
  FROM usage_dirty_slots WHERE kind = ${COUNT_KIND} AND ${OF_ACCOUNTS} GROUP BY namespace_id, account_id`

/**
 * Late counts, and one row with `part` = "marked" for each account with a mark that is not cancelled. The table is read
 * only once, so both are of the same moment: if the count includes a mark, the mark is found too unless it is
 * cancelled.
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

/** Stores and reads marks of late usage. */
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
    // Marks are counted when they are placed, and again when they are turned ready. In between, pending marks of a
    // loader that seems to have stopped may be worked off, and the loader may store their rows after that.
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
      // Marks come before counts: if ClickHouse stores them separately, no count is stored before readers can see its
      // mark.
      values: [...marks, ...counts],
      columns: [...COLUMNS],
      format: 'JSONEachRow',
    })
  }
  return {
    /**
     * Places marks before late rows are inserted.
     *
     * @param insertId a random number that identifies these marks
     * @param placedAt Unix seconds, by the clock of ClickHouse
     */
    placePending: (slots: readonly DirtySlot[], insertId: string, placedAt: number) =>
      insert(slots, insertId, placedAt, [{ stage: PENDING, change: 1 }]),

    /**
     * Turns marks ready after their rows are inserted. It is one insert, so that every reader finds either the pending
     * or the ready mark.
     */
    turnReady: (slots: readonly DirtySlot[], insertId: string, placedAt: number) =>
      insert(slots, insertId, placedAt, [
        { stage: PENDING, change: -1 },
        { stage: READY, change: 1 },
      ]),

    /** Places marks of slots that ended while their rows were inserted. */
    placeReady: (slots: readonly DirtySlot[], insertId: string, placedAt: number) =>
      insert(slots, insertId, placedAt, [{ stage: READY, change: 1 }]),

    /**
     * Lists the marks that can be worked off, the oldest first. The list is empty until the oldest mark is lateAfterS
     * old, so that one round works off many marks.
     */
    listReady: ({ orphanS, lateAfterS }: MarksAfter, limit: number): Promise<MarkedInsert[]> =>
      queryRows<MarkedInsert>(client, LIST_READY, { orphanS, lateAfterS, limit }),

    /** Lists inserts with ready marks of slots from this one on. */
    listReadyFrom: (slotFrom: number): Promise<MarkedInsert[]> =>
      queryRows<MarkedInsert>(client, LIST_READY_FROM, { slotFrom }),

    /**
     * The number of inserts with marks that are not cancelled, and when the oldest of these marks was placed: for
     * inserts that are stored, and for pending ones.
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
     * Cancels exactly these marks. If a pending mark was turned ready after it was listed, its ready mark is kept.
     *
     * @param slotFrom cancels only marks of slots from this one on
     */
    async cancel(marks: readonly MarkedInsert[], slotFrom = 0): Promise<void> {
      await client.command({ query: CANCEL, query_params: { ...markParams(marks), slotFrom } })
    },

    /**
     * Repairs marks that were cancelled more than once.
     *
     * @param olderThanS repairs only marks that were placed more than this many seconds ago
     */
    async repair(olderThanS: number): Promise<void> {
      await client.command({ query: REPAIR, query_params: { olderThanS } })
    },
  }
}
