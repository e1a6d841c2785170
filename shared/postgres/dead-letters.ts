import type { Queryable } from './pool.ts'

/** One line of the event log that could not be counted. */
export interface DeadLetter {
  id: number
  topic: string
  partition: number
  offset: number
  /** Which line of the record, from 0. */
  line: number
  reason: string
  value: Buffer
  createdAt: Date
  retriedAt: Date | null
}

export type NewDeadLetter = Omit<DeadLetter, 'id' | 'createdAt' | 'retriedAt'>

interface DeadLetterRow {
  dead_letter_id: string
  topic: string
  partition: number
  log_offset: string
  line: number
  reason: string
  value: Buffer
  created_at: Date
  retried_at: Date | null
}

const COLUMNS = 'dead_letter_id, topic, partition, log_offset, line, reason, value, created_at, retried_at'
const INSERT = `
  INSERT INTO dead_letters (topic, partition, log_offset, line, reason, value) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (topic, partition, log_offset, line) DO NOTHING`
const FIND = `SELECT ${COLUMNS} FROM dead_letters WHERE dead_letter_id = $1`
const LIST = `SELECT ${COLUMNS} FROM dead_letters WHERE dead_letter_id > $1 ORDER BY dead_letter_id LIMIT $2`
const LIST_OF_PARTITION = `
  SELECT ${COLUMNS} FROM dead_letters
  WHERE topic = $1 AND partition = $2 AND log_offset >= $3 AND log_offset < $4`
const MARK_RETRIED = 'UPDATE dead_letters SET retried_at = clock_timestamp() WHERE dead_letter_id = $1'

export const deadLetterRepository = (db: Queryable) => ({
  /** Keeps a line with its reason; the same line again changes nothing. */
  async insert({ topic, partition, offset, line, reason, value }: NewDeadLetter): Promise<void> {
    await db.query(INSERT, [topic, partition, offset, line, reason, value])
  },

  async find(id: number): Promise<DeadLetter | undefined> {
    const { rows } = await db.query<DeadLetterRow>(FIND, [id])
    return rows.map(deadLetterFromRow)[0]
  },

  /** In the order they came, from after an id on (0 for the start). */
  async list(afterId: number, limit: number): Promise<DeadLetter[]> {
    const { rows } = await db.query<DeadLetterRow>(LIST, [afterId, limit])
    return rows.map(deadLetterFromRow)
  },

  /** Those of a stretch of one partition. */
  async listOfPartition(topic: string, partition: number, from: number, to: number): Promise<DeadLetter[]> {
    const { rows } = await db.query<DeadLetterRow>(LIST_OF_PARTITION, [topic, partition, from, to])
    return rows.map(deadLetterFromRow)
  },

  async markRetried(id: number): Promise<void> {
    await db.query(MARK_RETRIED, [id])
  },
})

const deadLetterFromRow = (row: DeadLetterRow): DeadLetter => ({
  id: Number(row.dead_letter_id),
  topic: row.topic,
  partition: row.partition,
  offset: Number(row.log_offset),
  line: row.line,
  reason: row.reason,
  value: row.value,
  createdAt: row.created_at,
  retriedAt: row.retried_at,
})
