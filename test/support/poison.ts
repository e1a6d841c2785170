import type { EventLog } from '../../shared/event-log/event-log.ts'
import { usageEventToLine } from '../../shared/domain/usage-event-line.ts'
import { microsecondClock } from '../../shared/time/microsecond-clock.ts'
import { makeReport } from './usage-event.ts'

const clock = microsecondClock()

/** Two lines of one record that the loader takes for good ones and ClickHouse does not: it reads no exponents. */
export async function appendRefusedLines(log: EventLog): Promise<number> {
  const line = () => `${usageEventToLine(makeReport()).replace('1767225600,', '1.7672256e9,')}\n`
  await log.append([{ partition: 0, acceptedAt: clock(), value: Buffer.from(line() + line()) }])
  return 2
}
