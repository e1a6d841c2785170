import { parseArgs } from 'node:util'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { CONNECTION_OPTIONS, type ConnectionValues } from '../../core/connection.ts'
import { timeParser } from '../../core/parse-time.ts'

const OPTIONS = {
  ...CONNECTION_OPTIONS,
  out: { type: 'string' },
  format: { type: 'string' },
  at: { type: 'string' },
  'as-of': { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

export type PreviewFormat = 'csv' | 'ndjson'

export interface PreviewOptions {
  /** The path as it was typed; undefined means standard output. */
  out: string | undefined
  format: PreviewFormat
  /** In Unix seconds; undefined means now. */
  at: number | undefined
  asOf: number | undefined
  connection: ConnectionValues
}

/**
 * Reads the command line.
 *
 * @returns undefined when help is asked for
 * @throws UsageError, or parseArgs' own TypeError
 */
export function readPreviewOptions(args: readonly string[]): PreviewOptions | undefined {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  if (values.help) return undefined
  if (values.out === undefined)
    throw new UsageError('--out is missing: a file, or - for standard output; see --help')
  return {
    out: values.out === '-' ? undefined : values.out,
    format: readFormat(values.format, values.out),
    at: readTime('at', values.at),
    asOf: readTime('as-of', values['as-of']),
    connection: values,
  }
}

function readFormat(given: string | undefined, out: string): PreviewFormat {
  if (given === 'csv' || given === 'ndjson') return given
  if (given !== undefined) throw new UsageError('--format must be csv or ndjson')
  if (/\.csv$/i.test(out)) return 'csv'
  if (/\.(ndjson|jsonl)$/i.test(out)) return 'ndjson'
  throw new UsageError('--format is missing: csv or ndjson; the name of the file does not say')
}

function readTime(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = timeParser('auto', 0)(text)
  if (typeof time === 'number') return time
  throw new UsageError(`--${option} ${time.fault}`)
}
