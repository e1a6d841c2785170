import { printable } from './printable.ts'

/**
 * Lines of printable text in columns, the first one the headings; only `none` when there is nothing to list.
 *
 * @param numbersFrom the first column that holds numbers: from there on cells stand to the right
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
