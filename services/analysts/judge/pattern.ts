import { ClickHouseException } from '../exception.ts'

const SIZE_MAX = 4_096

/**
 * Refuses patterns that take the engine long for each row: it checks its time limit only between blocks of rows.
 *
 * @param written a regular expression, or a pattern of LIKE, as written between quotes
 * @throws ClickHouseException when it is too long, or would be with its repetitions: `a{3}` counts as `aaa`
 */
export function requireSmallPattern(written: string): void {
  const pattern = written.replace(/\\([^])/g, '$1')
  if (Buffer.byteLength(pattern) > SIZE_MAX || sizeOf(pattern) > SIZE_MAX)
    throw new ClickHouseException(
      'ACCESS_DENIED',
      `a pattern may have at most ${SIZE_MAX} bytes here; a{3} counts as aaa.`,
    )
}

/** The text before a pattern of COLUMNS; EXPLAIN AST does not show these patterns. */
const COLUMNS = "COLUMNS('"

/**
 * Refuses patterns of COLUMNS that take the engine long for each row.
 *
 * @param text as ClickHouse formats it, so that a quote within a literal has a backslash
 * @throws ClickHouseException when one is too long
 */
export function requireSmallColumnPatterns(text: string): void {
  for (let at = text.indexOf(COLUMNS); at >= 0; at = text.indexOf(COLUMNS, at + 1)) {
    const from = at + COLUMNS.length
    const [pattern = ''] = /^(?:[^'\\]|\\.)*/s.exec(text.slice(from, from + 2 * SIZE_MAX + 2)) ?? []
    requireSmallPattern(pattern)
  }
}

/** Counts the elements of a pattern. A repetition counts as often as it may repeat: `a{3}` as `aaa`. */
function sizeOf(pattern: string): number {
  let size = 0
  /** The size of the last element, which a repetition such as {3} repeats. */
  let last = 0
  const outer: number[] = []
  for (const [token, open, close, count] of pattern.matchAll(PARTS)) {
    if (open !== undefined) {
      outer.push(size)
      size = 0
    } else if (close !== undefined) {
      last = size + 1
      size = (outer.pop() ?? 0) + last
    } else if (count !== undefined) {
      const times = Math.max(...count.split(',').map(Number), 1)
      size += last * (times - 1)
      last *= times
    } else {
      last = token.startsWith('\\Q') ? token.length : 1
      size += last
    }
  }
  return size + outer.reduce((sum, one) => sum + one, 0)
}

/** A quoted text, an escaped character, a class, a bracket of a group, a repetition, or any other character. */
const PARTS =
  /\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?\]?(?:\[:\^?\w+:\]|[^\]\\]|\\[^])*\]|(\()|(\))|\{(\d+(?:,\d*)?)\}|[^]/g
