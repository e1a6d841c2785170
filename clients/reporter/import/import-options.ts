import path from 'node:path'
import { parseArgs } from 'node:util'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { CONNECTION_OPTIONS, type ConnectionValues } from '../../core/connection.ts'
import { integerOption } from '../../core/number-option.ts'
import { parseUtcOffset, TIME_FORMATS, type TimeFormat } from '../../core/parse-time.ts'
import { requireSourceText } from '../metric-source.ts'
import type { PropertyColumn } from './input-line.ts'

const OPTIONS = {
  ...CONNECTION_OPTIONS,
  file: { type: 'string' },
  format: { type: 'string' },
  delimiter: { type: 'string' },
  'no-header': { type: 'boolean', default: false },
  time: { type: 'string' },
  'time-format': { type: 'string', default: 'auto' },
  'utc-offset': { type: 'string', default: '+00:00' },
  quantity: { type: 'string', multiple: true, default: [] as string[] },
  'allow-exponents': { type: 'boolean', default: false },
  account: { type: 'string' },
  'account-column': { type: 'string' },
  property: { type: 'string', multiple: true, default: [] as string[] },
  source: { type: 'string', default: '' },
  create: { type: 'boolean', default: false },
  'batch-size': { type: 'string' },
  'in-flight': { type: 'string' },
  strict: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

const FORMATS = ['csv', 'ndjson'] as const
type InputFormat = (typeof FORMATS)[number]

/** A quantity column, and the metric or currency of its quantities. */
interface QuantityColumn {
  column: string
  /** A metric's name or id, or `currency:usd`. */
  metric: string
}

/** The account of the lines: one for all, or a column of external ids. */
type AccountChoice = { fixed: string } | { column: string }

export interface ImportOptions {
  /** A path, or `-` for standard input. */
  file: string
  /** Undefined when the ending of the file's name decides. */
  format: InputFormat | undefined
  delimiter: string
  header: boolean
  timeColumn: string
  timeFormat: TimeFormat
  utcOffsetS: number
  quantities: QuantityColumn[]
  allowExponents: boolean
  account: AccountChoice
  properties: PropertyColumn[]
  source: string
  create: boolean
  batchSize: number
  inFlightMax: number
  strict: boolean
  dryRun: boolean
  connection: ConnectionValues
}

const BATCH_SIZE = { default: 1_000, min: 1, max: 1_000 }
const IN_FLIGHT = { default: 4, min: 1, max: 64 }

/**
 * Reads the command line.
 *
 * @returns undefined when help is asked for
 * @throws UsageError, or parseArgs' own TypeError
 */
export function readImportOptions(args: readonly string[]): ImportOptions | undefined {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  if (values.help) return undefined
  const file = required('file', values.file)
  const batchSize = integerOption('batch-size', values['batch-size'], BATCH_SIZE)
  const quantities = values.quantity.map(parseQuantityColumn)
  if (quantities.length === 0)
    throw new UsageError('--quantity is required, such as --quantity Tokens=tokens')
  if (quantities.length > batchSize)
    throw new UsageError('--batch-size must be at least the number of --quantity options')
  const utcOffsetS = parseUtcOffset(values['utc-offset'])
  if (utcOffsetS === undefined) throw new UsageError('--utc-offset must look like +02:00')
  return {
    file,
    format: values.format === undefined ? undefined : oneOf('format', values.format, FORMATS),
    delimiter: delimiterOf(values.delimiter, file),
    header: !values['no-header'],
    timeColumn: required('time', values.time),
    timeFormat: oneOf('time-format', values['time-format'], TIME_FORMATS),
    utcOffsetS,
    quantities,
    allowExponents: values['allow-exponents'],
    account: accountOf(values.account, values['account-column']),
    properties: values.property.map(parsePropertyColumn),
    source: values.source,
    create: values.create,
    batchSize,
    inFlightMax: integerOption('in-flight', values['in-flight'], IN_FLIGHT),
    strict: values.strict,
    dryRun: values['dry-run'],
    connection: values,
  }
}

function required(name: string, value: string | undefined): string {
  if (value === undefined || value === '') throw new UsageError(`--${name} is required`)
  return value
}

function oneOf<T extends string>(name: string, text: string, values: readonly T[]): T {
  const value = values.find((candidate) => candidate === text)
  if (value === undefined) throw new UsageError(`--${name} must be one of ${values.join(', ')}, not ${text}`)
  return value
}

const FORMAT_OF_ENDING: Readonly<Record<string, InputFormat>> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
}

/**
 * Returns the named format. If none is named, the ending of the file's name decides.
 * @throws UsageError when neither decides
 */
export function formatOf({ format: named, file }: Pick<ImportOptions, 'format' | 'file'>): InputFormat {
  const format = named ?? FORMAT_OF_ENDING[path.extname(file).toLowerCase()]
  if (format === undefined)
    throw new UsageError('--format is required: csv or ndjson; the file name does not say')
  return format
}

function delimiterOf(text: string | undefined, file: string): string {
  if (text === undefined) return path.extname(file).toLowerCase() === '.tsv' ? '\t' : ','
  if (text === 'tab' || text === '\\t') return '\t'
  if (text.length === 1 && !/["\r\n]/.test(text) && text < '\x7f') return text
  throw new UsageError('--delimiter must be one ASCII character, or tab')
}

function accountOf(fixed: string | undefined, column: string | undefined): AccountChoice {
  if (fixed !== undefined && column === undefined) return { fixed: required('account', fixed) }
  if (fixed === undefined && column !== undefined) return { column: required('account-column', column) }
  throw new UsageError('exactly one of --account and --account-column is required')
}

function parseQuantityColumn(text: string): QuantityColumn {
  const [column, metric] = splitPair(text)
  if (column === '' || metric === undefined)
    throw new UsageError(`--quantity must look like COLUMN=METRIC or COLUMN=currency:usd, not ${text}`)
  requireSourceText(metric)
  return { column, metric }
}

function parsePropertyColumn(text: string): PropertyColumn {
  const [column, name = column] = splitPair(text)
  if (column === '' || name === '')
    throw new UsageError(`--property must look like COLUMN or COLUMN=NAME, not ${text}`)
  return { column, name }
}

/** Splits at the first `=`. */
function splitPair(text: string): [string, string | undefined] {
  const at = text.indexOf('=')
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}
