import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { findInexactNumber } from '../../../shared/amount/exact-number.ts'
import {
  type BadLine,
  type InputLine,
  type InputLines,
  NOT_UTF8,
  RECORD_BYTES_MAX,
  type WantedColumns,
} from './input-line.ts'
import { plainDigits } from './plain-digits.ts'
import { splitStream } from './split-stream.ts'

/**
 * Reads one JSON object per line. Lines end in LF or CR LF. A byte order mark and blank lines are skipped. Columns are
 * the names of top-level fields. A number in a wanted column keeps its exact value; it is not rounded to a double.
 */
export async function* readNdjson(input: Readable, wanted: WantedColumns): InputLines {
  let line = 0
  for await (const bytes of splitStream(input, RECORD_BYTES_MAX)) {
    line++
    const place = { line, lastLine: line }
    if (bytes === undefined) yield { ...place, fault: `is longer than ${RECORD_BYTES_MAX} bytes` }
    else if (!isUtf8(bytes)) yield { ...place, fault: NOT_UTF8 }
    else {
      const text = bytes
        .toString()
        .replace(/^\uFEFF/, '')
        .trim()
      if (text !== '') yield lineOf({ ...place, text }, wanted)
    }
  }
}

/** Why a Map: every object has a property `constructor`, which a column of that name would find. */
type Fields = ReadonlyMap<string, unknown>

/** A prefix for the digits of a number that JSON.parse would have changed. No input begins with it by chance. */
const LOSSY = `lossy ${randomUUID()} `

function lineOf(
  place: Pick<InputLine, 'line' | 'lastLine' | 'text'>,
  wanted: WantedColumns,
): InputLine | BadLine {
  const fields = parseObject(place.text)
  if (fields === undefined) return { ...place, fault: 'is not a JSON object' }
  const cells: (string | undefined)[] = []
  for (const column of wanted.cells) {
    const cell = textOf(fields.get(column))
    if (cell === null) return { ...place, fault: `${column}: is neither text nor a number` }
    cells.push(cell)
  }
  const properties: [string, unknown][] = []
  for (const { column, name } of wanted.properties) {
    const value = fields.get(column)
    if (value === undefined || value === null || value === '') continue
    if (holdsLossy(value))
      return {
        ...place,
        fault: `${column}: holds a number that loses digits in a 64-bit float; write it as text`,
      }
    properties.push([name, value])
  }
  return { ...place, cells, columnKeys: wanted.cells, properties: Object.fromEntries(properties) }
}

function parseObject(text: string): Fields | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
    if (findInexactNumber(text) !== undefined) value = JSON.parse(markLossy(text))
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return new Map<string, unknown>(Object.entries(value))
}

/**
 * Replaces each number that a double cannot hold exactly by marked text. Strings are matched first, so no string is
 * changed.
 */
const markLossy = (json: string): string =>
  json.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') || findInexactNumber(token) === undefined ? token : `"${LOSSY}${token}"`,
  )

/** Returns the text of a cell; undefined if the field is missing or null, null if it is neither text nor a number. */
function textOf(value: unknown): string | undefined | null {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return plainDigits(String(value)) ?? String(value)
  if (typeof value !== 'string') return null
  if (!value.startsWith(LOSSY)) return value
  const digits = value.slice(LOSSY.length)
  return plainDigits(digits) ?? digits
}

const holdsLossy = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.startsWith(LOSSY)
    : typeof value === 'object' && value !== null && Object.values(value).some(holdsLossy)
