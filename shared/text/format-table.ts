import { printable } from './printable.ts'

/**
 * A table as lines of printable text, with the headings first. If there are no rows, the only line is `none`.
 *
 * @param numbersFrom the first column of numbers. Cells of this column and all later columns are right-aligned
 */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  numbersFrom = headings.length,
): string[] {
  if (rows.length === 0) return ['none']
  const all = [headings, ...rows].map((row) => row.map(printable))
  const widths = headings.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)))
  const pad = (cell: string, column: number) =>
    column < numbersFrom ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return all.map((row) => row.map(pad).join('  ').trimEnd())
}
