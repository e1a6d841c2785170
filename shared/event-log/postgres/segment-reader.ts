import pg from 'pg'
import type { Queryable } from '../../postgres/core/pool.ts'
import type { LogRecord, Position } from '../event-log.ts'
import { decodeValue } from './value-encoding.ts'

/** The first offset of a partition in a segment. */
interface Bound {
  segmentId: number
  firstOffset: number
}

interface RecordRow {
  partition: number
  log_offset: string
  accepted_at: string
  encoding: number
  decoded_size: number
  value: Buffer
}

const LIST_ENDS = 'SELECT partition, next_offset FROM event_log_partitions WHERE topic = $1'
const LIST_BOUNDS = `
  SELECT segment_id, first_offset FROM event_log_bounds WHERE topic = $1 AND partition = $2 ORDER BY segment_id`
/** The maximum number of records that one statement reads, even if they are small. */
const RECORDS_MAX = 2_000

/** Reads records from the segment tables. */
export class SegmentReader {
  private readonly db: Queryable
  private readonly topic: string
  private readonly bounds = new Map<number, Bound[]>()

  constructor(db: Queryable, topic: string) {
    this.db = db
    this.topic = topic
  }

  /** The next offset that will be written, by partition. */
  async listEnds(): Promise<Map<number, number>> {
    const { rows } = await this.db.query<{ partition: number; next_offset: string }>({
      name: 'event-log-ends',
      text: LIST_ENDS,
      values: [this.topic],
    })
    return new Map(rows.map((row) => [row.partition, Number(row.next_offset)]))
  }

  async listPartitions(): Promise<number[]> {
    return [...(await this.listEnds()).keys()].sort((a, b) => a - b)
  }

  /**
   * Records from these positions on, in order within each partition; empty when all partitions are at their end. The
   * last partitions of the list may have to wait for the next call.
   *
   * @param bytesMax as in PollLimits
   */
  async readNew(positions: readonly Position[], bytesMax: number): Promise<LogRecord[]> {
    const ends = await this.listEnds()
    const behind = positions.filter(({ partition, offset }) => offset < (ends.get(partition) ?? 0))
    const records: LogRecord[] = []
    // Why each partition gets a share: one with a long backlog must not make the others wait.
    const bytesEach = Math.ceil(bytesMax / Math.max(1, behind.length))
    let left = bytesMax
    for (const position of behind) {
      const read = await this.read(position, Math.min(bytesEach, left))
      records.push(...read)
      left -= read.reduce((sum, { value }) => sum + value.length, 0)
      if (left <= 0) break
    }
    return records
  }

  /**
   * Records of one partition from an offset on: at least one, unless the offset is at the end of the partition or of a
   * segment.
   *
   * @param bytesMax as in PollLimits
   */
  async read(from: Position, bytesMax: number): Promise<LogRecord[]> {
    const segmentId = await this.findSegment(from)
    if (segmentId === undefined) return []
    try {
      const rows = await this.readSegment(segmentId, from, bytesMax)
      return await Promise.all(rows.map(recordFromRow))
    } catch (err) {
      if (!isUndefinedTable(err) || !this.bounds.delete(from.partition)) throw err
      return this.read(from, bytesMax) // the segment was dropped, so every group has read it: read the next segment
    }
  }

  private async readSegment(segmentId: number, from: Position, bytesMax: number): Promise<RecordRow[]> {
    // The running sum never excludes the first record. The table's name contains a number that Tally made, not input.
    // Why not pg's binary results: pg first decodes every value as UTF-8, which breaks bytea.
    const { rows } = await this.db.query<RecordRow>({
      name: `event-log-read-${segmentId}`,
      text: `
        SELECT partition, log_offset, accepted_at, encoding, decoded_size, value
        FROM (
          SELECT *, sum(decoded_size) OVER (ORDER BY log_offset) - decoded_size AS before
          FROM (SELECT * FROM event_log_segment_${segmentId} WHERE partition = $1 AND log_offset >= $2
                ORDER BY log_offset LIMIT ${RECORDS_MAX}) AS taken
        ) AS counted WHERE before < $3 ORDER BY log_offset`,
      values: [from.partition, from.offset, bytesMax],
    })
    return rows
  }

  private async findSegment({ partition, offset }: Position): Promise<number | undefined> {
    const cached = this.bounds.get(partition)
    // The last cached segment may have been closed since, so an offset in it requires a new read of the bounds.
    const fresh = cached === undefined || !cached.some((bound) => bound.firstOffset > offset)
    const bounds = fresh ? await this.listBounds(partition) : cached
    return (bounds.findLast(({ firstOffset }) => firstOffset <= offset) ?? bounds[0])?.segmentId
  }

  private async listBounds(partition: number): Promise<Bound[]> {
    const { rows } = await this.db.query<{ segment_id: string; first_offset: string }>({
      name: 'event-log-bounds',
      text: LIST_BOUNDS,
      values: [this.topic, partition],
    })
    const bounds = rows.map((row) => ({
      segmentId: Number(row.segment_id),
      firstOffset: Number(row.first_offset),
    }))
    this.bounds.set(partition, bounds)
    return bounds
  }
}

const isUndefinedTable = (err: unknown): boolean => err instanceof pg.DatabaseError && err.code === '42P01'

async function recordFromRow(row: RecordRow): Promise<LogRecord> {
  return {
    partition: row.partition,
    offset: Number(row.log_offset),
    acceptedAt: Number(row.accepted_at),
    value: await decodeValue({ encoding: row.encoding, bytes: row.value, decodedSize: row.decoded_size }),
  }
}
