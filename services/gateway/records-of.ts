import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { type NewRecord, RECORD_BYTES_MAX } from '../../shared/event-log/event-log.ts'
import { partitionOfAccount } from '../../shared/event-log/partition.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import { usageEventToLine } from '../../shared/usage-lines/log-line.ts'

/**
 * Makes records of events: one for each partition, and several where one record would be too large.
 *
 * @param acceptedAt the time at which the gateway took the events or their corrections
 */
export function recordsOf(events: Iterable<UsageEvent>, partitions: number, acceptedAt: Micros): NewRecord[] {
  const records: NewRecord[] = []
  const open = new Map<number, { text: string; bytes: number }>()
  const flush = (partition: number, text: string) =>
    records.push({ partition, acceptedAt, value: Buffer.from(text) })
  for (const event of events) {
    const line = `${usageEventToLine(event)}\n`
    const bytes = Buffer.byteLength(line)
    const partition = partitionOfAccount(event.accountId, partitions)
    const record = open.get(partition)
    if (record === undefined) open.set(partition, { text: line, bytes })
    else if (record.bytes + bytes > RECORD_BYTES_MAX) {
      flush(partition, record.text)
      open.set(partition, { text: line, bytes })
    } else {
      record.text += line
      record.bytes += bytes
    }
  }
  for (const [partition, { text }] of open) flush(partition, text)
  return records
}
