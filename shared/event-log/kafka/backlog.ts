import type { Micros } from '../../time/microsecond-clock.ts'
import type { PartitionLag } from '../event-log.ts'
import type { PartitionReader } from './partition-reader.ts'

/**
 * The maximum number of bytes of a partition that are read to find its lowest time of acceptance. For later records,
 * the time of appending gives a bound.
 */
const BYTES_MAX = 16_000_000

/** The maximum size of a remembered range, similar to the size of a fetch. */
const RANGE_BYTES_MAX = 1_000_000

/** A summary of consecutive records. */
interface OffsetRange {
  from: number
  /** The offset at which the next range begins. */
  next: number
  lowest: Micros
  bytes: number
  lastAppendedAtMs: number
}

/**
 * Searches the records that a group has not read yet. Searches are frequent, but each record is read only once: its
 * summary is remembered until the group has read the record.
 */
export class Backlog {
  private readonly reader: Pick<PartitionReader, 'fetchOne'>
  private readonly settleMs: number
  private readonly readRanges = new Map<number, readonly OffsetRange[]>()

  /** @param settleMs the time after which an unconfirmed append can no longer arrive */
  constructor(reader: Pick<PartitionReader, 'fetchOne'>, settleMs: number) {
    this.reader = reader
    this.settleMs = settleMs
  }

  /** The lowest time of acceptance in the backlog, or a lower bound of it; undefined when the backlog is empty. */
  async findLowest(lags: readonly PartitionLag[]): Promise<Micros | undefined> {
    const lowest = await Promise.all(lags.map((lag) => this.lowestOf(lag)))
    const behind = lowest.filter((at) => at !== undefined)
    return behind.length === 0 ? undefined : Math.min(...behind)
  }

  private async lowestOf({ partition, committed, end }: PartitionLag): Promise<Micros | undefined> {
    const before = (this.readRanges.get(partition) ?? []).filter(
      ({ from, next }) => from >= committed && next <= end,
    )
    const ranges: OffsetRange[] = []
    let lowest = Infinity
    let bytes = 0
    for (let offset = committed; offset < end;) {
      const range =
        before.find(({ from }) => from === offset) ??
        (await this.read(partition, offset, before.find(({ from }) => from > offset)?.from ?? Infinity))
      ranges.push(range)
      lowest = Math.min(lowest, range.lowest)
      bytes += range.bytes
      offset = range.next
      // Later records were appended after this one. A record is accepted at most settleMs before it is appended.
      if (bytes >= BYTES_MAX && range.bytes > 0) {
        lowest = Math.min(lowest, (range.lastAppendedAtMs - this.settleMs) * 1_000)
        break
      }
    }
    this.readRanges.set(partition, joined(ranges))
    return lowest === Infinity ? undefined : lowest
  }

  /** @param upTo the offset at which the next remembered range begins */
  private async read(partition: number, from: number, upTo: number): Promise<OffsetRange> {
    const { records, next } = await this.reader.fetchOne({ partition, offset: from })
    if (next <= from) throw new Error(`partition ${partition} ends before offset ${from}, which it had`)
    const range = { from, next: Math.min(next, upTo), lowest: Infinity, bytes: 0, lastAppendedAtMs: 0 }
    for (const { offset, acceptedAt, value, appendedAtMs } of records) {
      if (offset >= upTo) break
      range.lowest = Math.min(range.lowest, acceptedAt)
      range.bytes += value.length
      range.lastAppendedAtMs = appendedAtMs
    }
    return range
  }
}

/** Joins short ranges, because a log that grows slowly is read in many short ranges. */
function joined(ranges: readonly OffsetRange[]): OffsetRange[] {
  const longer: OffsetRange[] = []
  for (const range of ranges) {
    const last = longer.at(-1)
    if (last === undefined || last.bytes + range.bytes > RANGE_BYTES_MAX) longer.push(range)
    else
      longer[longer.length - 1] = {
        from: last.from,
        next: range.next,
        lowest: Math.min(last.lowest, range.lowest),
        bytes: last.bytes + range.bytes,
        lastAppendedAtMs: range.bytes > 0 ? range.lastAppendedAtMs : last.lastAppendedAtMs,
      }
  }
  return longer
}
