import { printable } from './printable.ts'

/**
 * Lines of printable text in columns, with the headings first; only `none` when there are no rows.
 *
 * @param numbersFrom the first column of numbers: from there on cells are right-aligned
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
