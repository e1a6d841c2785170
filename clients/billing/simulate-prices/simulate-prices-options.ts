import { parseArgs } from 'node:util'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { CONNECTION_OPTIONS, type ConnectionValues } from '../../core/connection.ts'
import { timeParser } from '../../core/parse-time.ts'

const OPTIONS = {
  ...CONNECTION_OPTIONS,
  card: { type: 'string' },
  changes: { type: 'string' },
  against: { type: 'string', default: 'contracts' },
  from: { type: 'string' },
  to: { type: 'string' },
  cadence: { type: 'string' },
  account: { type: 'string', multiple: true },
  all: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

const CADENCES = ['day', 'week', 'month', 'quarter', 'half_year', 'year']
const ACCOUNTS_MAX = 100

export interface SimulatePricesOptions {
  /** An id or an external id. */
  card: string
  changesFile: string | undefined
  /** `contracts`, `none`, or an id or external id of a card. */
  against: string
  /** The range, half-open, in Unix seconds. */
  startAt: number
  endAt: number
  cadence: string | undefined
  accountIds: readonly string[] | undefined
  /** Whether every account is listed. */
  all: boolean
  json: boolean
  connection: ConnectionValues
}

/**
 * Reads the command line.
 *
 * @param now in Unix seconds
 * @returns undefined when help is asked for
 * @throws UsageError, or parseArgs' own TypeError
 */
export function readSimulatePricesOptions(
  args: readonly string[],
  now: number,
): SimulatePricesOptions | undefined {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  if (values.help) return undefined
  const { card, cadence, account: accountIds } = values
  if (card === undefined)
    throw new UsageError('--card is required: the id of a rate card, or its external_id')
  if (cadence !== undefined && !CADENCES.includes(cadence))
    throw new UsageError(`--cadence must be one of ${CADENCES.join(', ')}`)
  if (accountIds !== undefined && values.all)
    throw new UsageError('--account and --all cannot be given together')
  if (accountIds !== undefined && accountIds.length > ACCOUNTS_MAX)
    throw new UsageError(`--account can be given ${ACCOUNTS_MAX} times at most`)
  return {
    ...{ card, against: values.against, cadence, all: values.all, json: values.json },
    changesFile: values.changes,
    ...rangeOf(values.from, values.to, now),
    accountIds: accountIds && [...new Set(accountIds)],
    connection: values,
  }
}

function rangeOf(
  from: string | undefined,
  to: string | undefined,
  now: number,
): { startAt: number; endAt: number } {
  if (from === undefined && to !== undefined) throw new UsageError('--to needs --from')
  const startAt = from === undefined ? monthStart(now, -1) : timeOf('from', from)
  const endAt = to === undefined ? (from === undefined ? monthStart(now, 0) : now) : timeOf('to', to)
  if (endAt <= startAt) throw new UsageError('the end (--to, or else now) must be after --from')
  return { startAt, endAt }
}

function timeOf(option: string, text: string): number {
  const time = timeParser('auto', 0)(text)
  if (typeof time !== 'number') throw new UsageError(`--${option}: ${time.fault}`)
  return time
}

/**
 * Finds the first second of a UTC month.
 * @param months the distance from the current month
 */
function monthStart(now: number, months: number): number {
  const date = new Date(now * 1_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1) / 1_000
}
