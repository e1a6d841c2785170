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
  /** One character. */
  delimiter: string
  /** Whether the first record names the columns; otherwise columns are numbers from 1. */
  header: boolean
}

/** What csv-parse gives with `raw`. */
interface RawRecord {
  record: string[]
  raw: string
}

/**
 * Reads CSV: quoted cells may hold delimiters, doubled quotes and line ends; lines end in LF or CR LF. Byte order marks
 * at the start of the input are passed over, and at the start of a record, where files were put together; so are empty
 * lines.
 *
 * Why `relax_quotes`, and a check of our own: csv-parse otherwise either stops at a stray quote or swallows lines after
 * it without a word. Relaxed it finds its feet at the next line end, and what is not well-formed is named as a bad line
 * here.
 *
 * Why line numbers are counted from the raw text: csv-parse counts CR LF within quotes twice.
 *
 * @throws UsageError when a column is not there
 */
export async function* readCsv(input: Readable, wanted: WantedColumns, options: CsvOptions): InputLines {
  const isWellFormed = wellFormedCsv(options.delimiter)
  const parser = parserOf(options.delimiter)
  const broken = watchForBreak(parser)
  pipeline(input, withoutMarks, parser, () => undefined) // an error of the input comes out of the parser
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

/** Byte order marks, which say nothing in UTF-8, at the start of text. */
const MARKS = /^\uFEFF+/
const MARK = Buffer.from('\uFEFF')

/** The parser takes a quote for one within a cell then, and the cell for none that is quoted. */
const QUOTED_AFTER_MARK =
  'begins with a byte order mark before a quote, as where two files were put together: remove the mark'

/** Passes over byte order marks at the start of an input. */
async function* withoutMarks(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of input) {
    if (start === undefined) {
      yield chunk
      continue
    }
    start = Buffer.concat([start, chunk])
    while (start.subarray(0, MARK.length).equals(MARK)) start = start.subarray(MARK.length)
    if (start.equals(MARK.subarray(0, start.length))) continue // it may be one of which not all is there
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
  /** How many records came before it; what comes after is made of pieces. */
  after: number
  fault: string | undefined
}

/**
 * Notices where the parser loses its way: at a quote that is never closed.
 *
 * Why not by its errors: an error takes the records with it that were read but not fetched yet.
 */
function watchForBreak(parser: Parser): Break {
  const broken: Break = { after: Infinity, fault: undefined }
  parser.on('skip', (err: CsvError) => {
    if (broken.fault !== undefined) return
    broken.after = parser.info.records
    broken.fault =
      (err.code as string) === 'CSV_MAX_RECORD_SIZE'
        ? `is longer than ${RECORD_BYTES_MAX} bytes, probably for a quote that is never closed`
        : 'has a quote that is never closed'
  })
  return broken
}

/** csv-parse leaves the LF of a CR LF out, and puts empty lines that it passed over in front of the next record. */
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

/** A test whether a record obeys RFC 4180: a cell is quoted as a whole, or holds no quote. */
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
  // Why fromEntries: an assignment to `__proto__` would vanish.
  return { ...place, cells, columnKeys: layout.columnKeys, properties: Object.fromEntries(properties) }
}
