import { parseArgs } from 'node:util'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { type Micros, MICROS_PER_SECOND } from '../../../shared/time/microsecond-clock.ts'
import { timeParser } from '../../core/parse-time.ts'
import type { AnalystValues } from './analyst-connection.ts'
import { FILE_FORMATS, type FileFormat } from './file-format.ts'
import { CHANGES } from './view-shape.ts'

const OPTIONS = {
  view: { type: 'string' },
  format: { type: 'string' },
  dir: { type: 'string' },
  since: { type: 'string' },
  url: { type: 'string' },
  database: { type: 'string' },
  user: { type: 'string' },
  'password-file': { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

export interface ExportOptions {
  view: string
  format: FileFormat
  /** As it was typed. */
  dir: string
  since: Micros | undefined
  connection: AnalystValues
}

/**
 * Reads the command line.
 *
 * @returns undefined when help is asked for
 * @throws UsageError, or parseArgs' own TypeError
 */
export function readExportOptions(args: readonly string[]): ExportOptions | undefined {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  if (values.help) return undefined
  const view = required('view', values.view, 'such as event_changes')
  if (!/^\w{1,64}$/.test(view)) throw new UsageError(`--view must be a name, not ${JSON.stringify(view)}`)
  const formats = Object.keys(FILE_FORMATS).join(', ')
  const format = required('format', values.format, `one of ${formats}`)
  if (!Object.hasOwn(FILE_FORMATS, format)) throw new UsageError(`--format must be one of ${formats}`)
  if (values.since !== undefined && view !== CHANGES)
    throw new UsageError(`--since needs --view ${CHANGES}: no other view has every change by its time`)
  return {
    view,
    format: format as FileFormat,
    dir: required('dir', values.dir, 'a folder for this export'),
    since: values.since === undefined ? undefined : parseSince(values.since),
    connection: values,
  }
}

function required(name: string, value: string | undefined, what: string): string {
  if (value !== undefined && value !== '') return value
  throw new UsageError(`--${name} is missing: ${what}; see --help`)
}

/** A time with its microseconds, as it is in a manifest. */
function parseSince(text: string): Micros {
  const second = timeParser('auto', 0)(text)
  if (typeof second !== 'number') throw new UsageError(`--since ${second.fault}`)
  const [, fraction = ''] = /:\d\d[.,](\d{1,6})\d*/.exec(text) ?? []
  return second * MICROS_PER_SECOND + Number(fraction.padEnd(6, '0'))
}
