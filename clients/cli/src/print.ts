import { formatTable } from '../../../shared/text/format-table.ts'
import { printable, printableJson } from '../../../shared/text/printable.ts'
import type { CliContext, GlobalOptions } from './cli-context.ts'

/** An object of an answer. */
export type Item = Readonly<Record<string, unknown>>

/** Shows answers: as tables on a terminal, as lines of JSON elsewhere, and with `--json` as they came. */
export interface Printer {
  /** Whether a person reads it on a terminal. */
  isTable: boolean
  /** The columns of the terminal. */
  columns: number
  /** Writes an answer as JSON in one line. */
  json: (value: unknown) => void
  /** Shows one object. */
  object: (item: Item) => void
  /** Shows the items of a list. */
  items: (items: readonly Item[]) => void
  /** Shows text that is not JSON. */
  text: (text: string) => void
  /** Writes a line of Tally's own text. */
  line: (text: string) => void
  /** Writes a note, which is not a part of the result. */
  note: (text: string) => void
}

export function makePrinter(context: CliContext, options: GlobalOptions): Printer {
  const isTable = context.columns !== undefined && options.json !== true
  const columns = context.columns ?? 80
  const line = (text: string) => {
    context.out(printable(text))
  }
  const note = (text: string) => {
    context.err(printable(text))
  }
  const json = (value: unknown) => {
    context.out(printableJson(value))
  }
  return {
    isTable,
    columns,
    json,
    line,
    note,
    object: (item) => {
      if (isTable) for (const text of objectLines(item, columns)) line(text)
      else json(item)
    },
    items: (items) => {
      if (!isTable) for (const item of items) json(item)
      else showTable(items, columns, line, note)
    },
    text: (text) => {
      for (const part of text.replace(/\n$/, '').split('\n')) line(part)
    },
  }
}

/** Shows as many columns as fit, the first ones. */
function showTable(
  items: readonly Item[],
  columns: number,
  line: (text: string) => void,
  note: (text: string) => void,
): void {
  const { lines, left } = fittingTable(items, columns)
  for (const text of lines) line(text)
  if (left.length > 0) note(`not shown: ${left.join(', ')}; a wider terminal or --json shows them`)
}

function fittingTable(items: readonly Item[], columns: number): { lines: string[]; left: string[] } {
  const rows = items.map(flattened)
  const names = [...new Set(rows.flatMap((row) => [...row.keys()]))]
    .filter((name) => rows.some((row) => (row.get(name) ?? '') !== ''))
    .sort((a, b) => rankOf(a) - rankOf(b))
  const widthOf = (name: string) =>
    Math.max(name.length, ...rows.map((row) => printable(row.get(name) ?? '').length)) + GAP
  let room = columns + GAP
  // The first column always fits: without ids a list is of no use.
  const shown = names.filter((name, index) => (room -= widthOf(name)) >= 0 || index === 0)
  const fitting = names.slice(0, names.findIndex((name) => !shown.includes(name)) >>> 0)
  return {
    lines: formatTable(
      fitting,
      rows.map((row) => fitting.map((name) => row.get(name) ?? '')),
    ),
    left: names.slice(fitting.length),
  }
}

const GAP = 2

/** What tells items apart comes first, then what is asked for. Ids of others are long, so they come late. */
function rankOf(name: string): number {
  if (name === 'id' || name === 'name') return 0
  if (['status', 'state', 'amount', 'quantity', 'balance', 'events', 'rejected', 'reason'].includes(name))
    return 0.5
  if (['metric_id', 'currency'].includes(name)) return 1.5
  if (/^(?:created|updated|accepted)_at$/.test(name)) return 4
  if (name === 'properties' || (name.endsWith('_id') && name !== 'external_id')) return 3
  return TIMES.test(name) ? 2 : 1
}

/** An object as lines: a field and its value, then the lists in it as tables. */
function objectLines(item: Item, columns: number): string[] {
  const lists = Object.entries(item).filter((entry): entry is [string, Item[]] => isList(entry[1]))
  const single = [
    ...flattened(Object.fromEntries(Object.entries(item).filter(([, value]) => !isList(value)))),
  ]
  const width = Math.max(0, ...single.map(([name]) => name.length))
  return [
    ...single.map(([name, text]) => `${name.padEnd(width)}  ${text}`.trimEnd()),
    ...lists.flatMap(([name, list]) => ['', `${name}:`, ...fittingTable(list, columns).lines]),
  ]
}

const isObject = (value: unknown): value is Item =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isList = (value: unknown): boolean => Array.isArray(value) && value.length > 0 && value.every(isObject)

/** The values of an object as text. Fields of an object in it have names such as `company.name`. */
function flattened(item: Item): Map<string, string> {
  const texts = new Map<string, string>()
  for (const [name, value] of Object.entries(item))
    if (isObject(value) && name !== 'properties')
      for (const [inner, text] of flattened(value)) texts.set(`${name}.${inner}`, text)
    else texts.set(name, cellText(name, value))
  return texts
}

function cellText(name: string, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  return typeof value === 'number' && TIMES.test(name) ? timeText(value) : printableJson(value)
}

/** The names of fields that are Unix seconds. */
const TIMES = /(?:^|_)(?:at|now|as_of)$/
const LAST_SECOND = 253_402_300_799

/** A time as text, which every option for a time takes. */
export const timeText = (second: number): string =>
  second >= 0 && second <= LAST_SECOND
    ? new Date(second * 1_000).toISOString().replace('.000Z', 'Z')
    : String(second)
