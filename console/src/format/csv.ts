/** A cell of text, which others may have written, or a number that the API wrote. */
export type CsvCell = string | { number: string }

/**
 * Programs that open a CSV file would run such text as a formula. In many languages they separate cells by semicolons,
 * and then text behind a semicolon or a new line begins a cell, whatever is quoted.
 */
const FORMULA = /(^|[;\t\r\n])(?=\s*[=+\-@＝＋－＠])/g

const guarded = (text: string): string =>
  (/^[\t\r\n]/.test(text) ? "'" : '') + text.replaceAll(FORMULA, "$1'")

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

const cellText = (cell: CsvCell): string => quoted(typeof cell === 'string' ? guarded(cell) : cell.number)

/** Writes a table as RFC 4180 wants it, with the byte order mark by which spreadsheets know UTF-8. */
export const csvText = (rows: readonly (readonly CsvCell[])[]): string =>
  `\uFEFF${rows.map((row) => `${row.map(cellText).join(',')}\r\n`).join('')}`
