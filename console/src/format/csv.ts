/** A cell of text, which others may have written, or a number that the API wrote. */
export type CsvCell = string | { number: string }

/** Programs that open a CSV file would run such text as a formula. */
const FORMULA = /^[=+\-@\t\r]/

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

const cellText = (cell: CsvCell): string =>
  typeof cell !== 'string' ? quoted(cell.number) : quoted(FORMULA.test(cell) ? `'${cell}` : cell)

/** Writes a table as RFC 4180 wants it, with the byte order mark by which spreadsheets know UTF-8. */
export const csvText = (rows: readonly (readonly CsvCell[])[]): string =>
  `\uFEFF${rows.map((row) => `${row.map(cellText).join(',')}\r\n`).join('')}`
