/** Lines of text in columns, the first one the headings; only `none` when there is nothing to list. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return ['none']
  const all = [headings, ...rows]
  const widths = headings.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)))
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
