import type { Queryable } from './core/pool.ts'

/** One line of the event log that could not be counted. */
export interface DeadLetter {
  id: number
  topic: string
  partition: number
  offset: number
  /** The index of the line in the record, from 0. */
  line: number
  reason: string
  value: Buffer
  createdAt: Date
  retriedAt: Date | null
}

/** A dead letter without its bytes. */
export type DeadLetterHead = Omit<DeadLetter, 'value'>

export type NewDeadLetter = Omit<DeadLetter, 'id' | 'createdAt' | 'retriedAt'>

interface HeadRow {
  dead_letter_id: string
  topic: string
  partition: number
  log_offset: string
  line: number
  reason: string
  created_at: Date
  retried_at: Date | null
}

type DeadLetterRow = HeadRow & { value: Buffer }

const HEAD = 'dead_letter_id, topic, partition, log_offset, line, reason, created_at, retried_at'
const INSERT = `
  INSERT INTO dead_letters (topic, partition, log_offset, line, reason, value) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (topic, partition, log_offset, line) DO NOTHING`
const FIND = `SELECT ${HEAD}, value FROM dead_letters WHERE dead_letter_id = $1`
const LIST = `
  SELECT ${HEAD} FROM dead_letters WHERE dead_letter_id > $1 AND dead_letter_id <= $2 ORDER BY dead_letter_id LIMIT $3`
const LAST_ID = 'SELECT max(dead_letter_id) AS last FROM dead_letters'
const LIST_POSITIONS = `
  SELECT partition, log_offset, line FROM dead_letters
  WHERE topic = $1 AND partition = $2 AND log_offset >= $3 AND log_offset < $4`
const COUNT_WAITING = 'SELECT count(*)::int AS waiting FROM dead_letters WHERE retried_at IS NULL'
const MARK_RETRIED = 'UPDATE dead_letters SET retried_at = clock_timestamp() WHERE dead_letter_id = $1'

export const deadLetterRepository = (db: Queryable) => ({
  /** Stores a line with its reason. Storing it again changes nothing. */
  async insert({ topic, partition, offset, line, reason, value }: NewDeadLetter): Promise<void> {
    await db.query(INSERT, [topic, partition, offset, line, reason, value])
  },

  async find(id: number): Promise<DeadLetter | undefined> {
    const { rows } = await db.query<DeadLetterRow>(FIND, [id])
    return rows.map((row) => ({ ...headFromRow(row), value: row.value }))[0]
  },

  /**
   * Yields all present dead letters in order of arrival, a page at a time and without their bytes. Dead letters that
   * arrive later are left out. So the list ends, also for a caller that creates new dead letters while it reads.
   */
  async *pages(size: number): AsyncGenerator<DeadLetterHead[]> {
    const { rows: ends } = await db.query<{ last: string | null }>(LAST_ID)
    const last = Number(ends[0]?.last ?? 0)
    for (let after = 0; after < last;) {
      const { rows } = await db.query<HeadRow>(LIST, [after, last, size])
      const page = rows.map(headFromRow)
      if (page.length > 0) yield page
      after = page.at(-1)?.id ?? last
    }
  },

  /** Lists the positions of dead letters in a range of one partition. */
  async listPositions(
    topic: string,
    partition: number,
    from: number,
    to: number,
  ): Promise<Pick<DeadLetter, 'partition' | 'offset' | 'line'>[]> {
    const { rows } = await db.query<Pick<HeadRow, 'partition' | 'log_offset' | 'line'>>(LIST_POSITIONS, [
      topic,
      partition,
      from,
      to,
    ])
    return rows.map((row) => ({ partition: row.partition, offset: Number(row.log_offset), line: row.line }))
  },

  /** Counts the dead letters that were not retried yet. */
  async countWaiting(): Promise<number> {
    const { rows } = await db.query<{ waiting: number }>(COUNT_WAITING)
    return rows[0]?.waiting ?? 0
  },

  async markRetried(id: number): Promise<void> {
    await db.query(MARK_RETRIED, [id])
  },
})

const headFromRow = (row: HeadRow): DeadLetterHead => ({
  id: Number(row.dead_letter_id),
  topic: row.topic,
  partition: row.partition,
  offset: Number(row.log_offset),
  line: row.line,
  reason: row.reason,
  createdAt: row.created_at,
  retriedAt: row.retried_at,
})
