import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import type { EventLog } from '../../../shared/event-log/event-log.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { makeReport } from '../../support/usage-event.ts'

interface FillOptions {
  count: number
  from: Micros
  seconds: number
  recordLines: number
  /** The approximate size of a line. */
  bytes: number
}

/**
 * Appends many reports like a gateway, spread evenly over a range of time and over the partitions.
 *
 * @returns a few of them
 */
export async function fillLog(
  log: EventLog,
  { count, from, seconds, recordLines, bytes }: FillOptions,
): Promise<UsageEvent[]> {
  const properties = JSON.stringify({ note: 'n'.repeat(bytes) })
  const records = Math.ceil(count / recordLines)
  const some: UsageEvent[] = []
  let writing: Promise<void>[] = []
  for (let n = 0; n < records; n++) {
    const acceptedAt = from + Math.floor((n * seconds * 1e6) / records)
    const lines = Array.from({ length: Math.min(recordLines, count - n * recordLines) }, (_, i) =>
      makeReport({
        key: `${n} ${i}`,
        acceptedAt,
        occurredAt: Math.floor(acceptedAt / 1e6),
        properties,
      }),
    )
    if (lines[0] !== undefined && n % Math.ceil(records / 10) === 0) some.push(lines[0])
    const value = Buffer.from(lines.map(usageEventToLine).join('\n'))
    writing.push(log.append([{ partition: n % log.partitions, acceptedAt, value }]))
    if (writing.length < 8) continue
    await Promise.all(writing)
    writing = []
  }
  await Promise.all(writing)
  return some
}
