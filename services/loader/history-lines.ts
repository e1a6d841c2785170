import type { LineSubject } from '../../shared/domain/line-subjects.ts'
import { isHistory } from '../../shared/domain/usage-history.ts'
import { breather, SMALL_STEPS } from '../../shared/lifecycle/breather.ts'

const NEWLINE = 0x0a
const BRACE = 0x7b
const HEAD_MAX = `{"insert_mark":"${2n ** 64n}",`.length

/**
 * The lines of history among some, each with the mark of its insert in front. There may be tens of thousands: others have their
 * turn meanwhile.
 *
 * @param lines newline-delimited JSON objects
 * @param touched what they report, line by line
 * @param markOf the mark that is placed for a line: an unsigned number of 64 bits, as text
 * @returns undefined when there are none
 */
export async function historyLines(
  lines: Buffer,
  touched: readonly LineSubject[],
  markOf: (subject: LineSubject) => string,
): Promise<Buffer | undefined> {
  const count = touched.filter(isHistory).length
  if (count === 0) return undefined
  const picked = Buffer.allocUnsafe(lines.length + 1 + count * HEAD_MAX)
  const breath = breather(SMALL_STEPS)
  let [start, length] = [0, 0]
  for (const subject of touched) {
    const newline = lines.indexOf(NEWLINE, start)
    const end = newline < 0 ? lines.length : newline
    if (isHistory(subject)) {
      length += picked.write(`{"insert_mark":"${markOf(subject)}",`, length, 'latin1')
      length += lines.copy(picked, length, lines.indexOf(BRACE, start) + 1, end)
      picked[length++] = NEWLINE
    }
    start = end + 1
    if (breath.isDue()) await breath.breathe()
  }
  return picked.subarray(0, length)
}
