import type { EventLog } from '../../shared/event-log/event-log.ts'
import { microsecondClock } from '../../shared/time/microsecond-clock.ts'
import { usageEventToLine } from '../../shared/usage-lines/log-line.ts'
import { makeReport } from '../support/usage-event.ts'

const clock = microsecondClock()

/**
 * Appends valid events of unknown accounts, in records as large as the gateway's largest.
 *
 * @returns the number of events
 */
export async function appendBulk(log: EventLog, records: number): Promise<number> {
  const properties = JSON.stringify({ text: 'x'.repeat(450_000) })
  for (let n = 0; n < records; n += AT_ONCE)
    await log.append(
      Array.from({ length: AT_ONCE }, (_, at) => ({
        partition: at % log.partitions,
        acceptedAt: clock(),
        value: Buffer.from(`${usageEventToLine(makeReport({ acceptedAt: clock(), properties }))}\n`),
      })),
    )
  return records
}

const AT_ONCE = 4

/**
 * Appends two lines in one record that the loader accepts and ClickHouse refuses, because ClickHouse reads no
 * exponents.
 */
export async function appendRefusedLines(log: EventLog): Promise<number> {
  const line = () => `${usageEventToLine(makeReport()).replace('1767225600,', '1.7672256e9,')}\n`
  await log.append([{ partition: 0, acceptedAt: clock(), value: Buffer.from(line() + line()) }])
  return 2
}
