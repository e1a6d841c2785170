import { pipeline, type Readable } from 'node:stream'
import { type CsvError, parse, type Parser } from 'csv-parse'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { type CsvLayout, namedLayout, numberedLayout } from './csv-layout.ts'
import {
  type BadLine,
  type InputLine,
  type InputLines,
  isDamaged,
  NOT_UTF8,
  RECORD_BYTES_MAX,
  type WantedColumns,
} from './input-line.ts'

export interface CsvOptions {
  /** A single character. */
  delimiter: string
  /** Whether the first record names the columns; otherwise columns are numbers from 1. */
  header: boolean
}

/** A record of csv-parse with the option `raw`. */
interface RawRecord {
  record: string[]
  raw: string
}

/**
 * Reads CSV. Quoted cells may have delimiters, doubled quotes and line ends. Lines end in LF or CR LF. Empty lines are
 * skipped. Byte order marks at the start of the input are skipped, too. So are those at the start of a record, which
 * joined files may have.
 *
 * Why `relax_quotes` and a check of our own: otherwise csv-parse either stops at a misplaced quote, or silently drops
 * lines after the quote. With `relax_quotes`, csv-parse recovers at the next line end. This reader then reports a
 * record that is not well-formed as a bad line.
 *
 * Why line numbers are counted from the raw text: csv-parse counts CR LF within quotes twice.
 *
 * @throws UsageError when a column does not exist
 */
export async function* readCsv(input: Readable, wanted: WantedColumns, options: CsvOptions): InputLines {
  const isWellFormed = wellFormedCsv(options.delimiter)
  const parser = parserOf(options.delimiter)
  const broken = watchForBreak(parser)
  pipeline(input, withoutMarks, parser, () => undefined) // errors of the input reach the loop below through the parser
  let layout = options.header ? undefined : numberedLayout(wanted)
  let next = 1
  let records = 0
  for await (const { record, raw } of parser as AsyncIterable<RawRecord>) {
    if (++records > broken.after) break
    const { text: marked, line, lastLine } = placeOf(raw, next)
    next = lastLine + 1
    const text = marked.replace(MARKS, '')
    if (text.length < marked.length) record[0] = (record[0] ?? '').replace(MARKS, '')
    const fault =
      text.length < marked.length && text.startsWith('"')
        ? QUOTED_AFTER_MARK
        : isWellFormed(text)
          ? undefined
          : 'has a quote where none belongs'
    if (layout === undefined) {
      if (fault !== undefined) throw new UsageError(`line ${line}, which names the columns, ${fault}`)
      layout = namedLayout(record, wanted, options.delimiter)
    } else if (fault !== undefined) yield { line, lastLine, fault }
    else yield lineOf({ line, lastLine, text }, record, layout)
  }
  const { fault } = broken
  if (layout === undefined)
    throw new UsageError(`line ${next}, which should name the columns, ${fault ?? 'is not there'}`)
  if (fault !== undefined)
    yield { line: next, lastLine: next, fault: `${fault}; nothing from here on was read` }
}

/** Byte order marks at the start of a text. They mean nothing in UTF-8. */
const MARKS = /^\uFEFF+/
const MARK = Buffer.from('\uFEFF')

/** After a byte order mark, the parser takes the opening quote as a character of an unquoted cell. */
const QUOTED_AFTER_MARK =
  'begins with a byte order mark before a quote, as when two files were joined: remove the mark'

/** Skips byte order marks at the start of an input. */
async function* withoutMarks(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of input) {
    if (start === undefined) {
      yield chunk
      continue
    }
    start = Buffer.concat([start, chunk])
    while (start.subarray(0, MARK.length).equals(MARK)) start = start.subarray(MARK.length)
    if (start.equals(MARK.subarray(0, start.length))) continue // this may be an incomplete mark
    yield start
    start = undefined
  }
  if (start !== undefined && start.length > 0) yield start
}

const parserOf = (delimiter: string): Parser =>
  parse({
    delimiter,
    raw: true,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: RECORD_BYTES_MAX,
  })

interface Break {
  /** How many records were read before the break. Records after it are fragments. */
  after: number
  fault: string | undefined
}

/**
 * Notices the place where the parser fails, which is a quote that is never closed.
 *
 * Why the parser does not throw: an error would also drop records that were read but not fetched yet.
 */
function watchForBreak(parser: Parser): Break {
  const broken: Break = { after: Infinity, fault: undefined }
  parser.on('skip', (err: CsvError) => {
    if (broken.fault !== undefined) return
    broken.after = parser.info.records
    broken.fault =
      (err.code as string) === 'CSV_MAX_RECORD_SIZE'
        ? `is longer than ${RECORD_BYTES_MAX} bytes, probably because of a quote that is never closed`
        : 'has a quote that is never closed'
  })
  return broken
}

/**
 * Finds the lines of a record. csv-parse leaves out the LF of a CR LF, and puts skipped empty lines before the next
 * record.
 */
function placeOf(raw: string, next: number): { text: string; line: number; lastLine: number } {
  const start = Math.max(raw.search(/[^\r\n]/), 0)
  const line = next + start
  const text = raw
    .slice(start)
    .replace(/[\r\n]$/, '')
    .replaceAll('\r\n', '\n')
  let lastLine = line
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) lastLine++
  return { text, line, lastLine }
}

/** Makes a function that checks whether a record obeys RFC 4180: each cell is quoted as a whole, or has no quote. */
function wellFormedCsv(delimiter: string): (text: string) => boolean {
  const mark = delimiter.replace(/[\\\]^-]/, '\\$&')
  const cell = `(?:"[^"]*(?:""[^"]*)*"|[^"${mark}]*)`
  const record = new RegExp(`^${cell}(?:[${mark}]${cell})*$`)
  return (text) => !text.includes('"') || record.test(text)
}

function lineOf(
  place: Pick<InputLine, 'line' | 'lastLine' | 'text'>,
  record: readonly string[],
  layout: CsvLayout,
): InputLine | BadLine {
  layout.count ??= record.length
  if (record.length !== layout.count)
    return { ...place, fault: `has ${record.length} cells where there should be ${layout.count}` }
  const cells = layout.cells.map((index) => record[index])
  const properties = layout.properties.flatMap(({ index, name }): [string, string][] => {
    const value = record[index] ?? ''
    return value === '' ? [] : [[name, value]]
  })
  if (cells.some(isDamaged) || properties.some(([, value]) => isDamaged(value)))
    return { ...place, fault: NOT_UTF8 }
  // Why fromEntries: an assignment to `__proto__` would be lost.
  return { ...place, cells, columnKeys: layout.columnKeys, properties: Object.fromEntries(properties) }
}
