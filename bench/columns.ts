/** Lines of a table: the first column to the left, the others to the right. */
export function formatColumns(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [headings, ...rows]
  const widths = headings.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)))
  const pad = (cell: string, column: number) =>
    column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return all.map((row) => row.map(pad).join('  ').trimEnd())
}
