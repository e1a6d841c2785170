import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { findTimeFault } from '../../../shared/domain/usage-event.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { CONNECTION_OPTIONS, type ConnectionValues } from '../../core/connection.ts'
import { integerOption, numberOption } from '../../core/number-option.ts'
import { timeParser } from '../../core/parse-time.ts'
import { earliestEventAt } from './made-up-usage.ts'

const OPTIONS = {
  ...CONNECTION_OPTIONS,
  rate: { type: 'string' },
  seconds: { type: 'string' },
  events: { type: 'string' },
  'batch-size': { type: 'string' },
  connections: { type: 'string' },
  accounts: { type: 'string' },
  skew: { type: 'string' },
  late: { type: 'string' },
  'late-hours': { type: 'string' },
  duplicates: { type: 'string' },
  seed: { type: 'string', default: '1' },
  run: { type: 'string' },
  'start-at': { type: 'string' },
  'probe-every': { type: 'string' },
  verify: { type: 'boolean', default: false },
  'verify-seconds': { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

export interface SimulateOptions {
  /** Events a second; undefined means as fast as possible. */
  rate: number | undefined
  /** The simulation ends when this time or the number of events is reached. */
  secondsMax: number
  eventsMax: number
  batchSize: number
  connectionsMax: number
  accounts: number
  skew: number
  /** From 0 to 1. */
  lateShare: number
  lateMaxS: number
  /** From 0 to 1. */
  duplicateShare: number
  seed: string
  /** A text in the key of every event, so that another run makes other events. */
  run: string
  /**
   * Whether the user named the run. Such a run has accounts of its own. Another run of the same name with the same
   * options repeats it.
   */
  runIsNamed: boolean
  /** Unix seconds; undefined means now. */
  startAt: number | undefined
  /** Milliseconds between probes; 0 for none. */
  probeEveryMs: number
  verify: boolean
  /** How long --verify waits for accepted events to be counted before it reports a difference, in milliseconds. */
  verifyWaitMs: number
  connection: ConnectionValues
}

const SECONDS_DEFAULT = 30
/** The default of --batch-size depends on the rate, and is never more than this. */
const BATCH_SIZE_MAX = 100
const NAME = /^[A-Za-z0-9_.-]{1,64}$/

/**
 * Reads the command line.
 *
 * @returns undefined when help is asked for
 * @throws UsageError, or parseArgs' own TypeError
 */
export function readSimulateOptions(args: readonly string[]): SimulateOptions | undefined {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  if (values.help) return undefined
  const { run, seconds, events } = values
  requireName('run', run ?? 'unnamed')
  requireName('seed', values.seed)
  if (run !== undefined && values['start-at'] === undefined)
    throw new UsageError('--run needs --start-at: a run that can be repeated has fixed times')
  const rate =
    values.rate === 'max'
      ? undefined
      : numberOption('rate', values.rate, { default: 1_000, min: 0.01, max: 10_000_000 })
  const lateShare = numberOption('late', values.late, { default: 1, min: 0, max: 100 }) / 100
  const lateMaxS =
    integerOption('late-hours', values['late-hours'], { default: 48, min: 1, max: 40_000 }) * 3_600
  return {
    rate,
    secondsMax:
      seconds === undefined && events !== undefined
        ? Infinity
        : numberOption('seconds', seconds, { default: SECONDS_DEFAULT, min: 0.1, max: 31_536_000 }),
    eventsMax:
      events === undefined ? Infinity : integerOption('events', events, { default: 1, min: 1, max: 1e12 }),
    batchSize: integerOption('batch-size', values['batch-size'], {
      default: batchSizeFor(rate),
      min: 1,
      max: 1_000,
    }),
    connectionsMax: integerOption('connections', values.connections, { default: 4, min: 1, max: 1_000 }),
    accounts: integerOption('accounts', values.accounts, { default: 100, min: 1, max: 1_000_000 }),
    skew: numberOption('skew', values.skew, { default: 1, min: 0, max: 10 }),
    lateShare,
    lateMaxS,
    duplicateShare: numberOption('duplicates', values.duplicates, { default: 1, min: 0, max: 100 }) / 100,
    seed: values.seed,
    run: run ?? randomBytes(6).toString('hex'),
    runIsNamed: run !== undefined,
    startAt: startAtOf(values['start-at'], { lateShare, lateMaxS }),
    probeEveryMs: integerOption('probe-every', values['probe-every'], {
      default: 1_000,
      min: 0,
      max: 3_600_000,
    }),
    verify: values.verify,
    verifyWaitMs:
      numberOption('verify-seconds', values['verify-seconds'], { default: 30, min: 0, max: 86_400 }) * 1_000,
    connection: values,
  }
}

/** Returns the events of a tenth of a second, because at a low rate large batches would be rare and uneven. */
const batchSizeFor = (rate = Infinity): number => Math.min(Math.max(Math.floor(rate / 10), 1), BATCH_SIZE_MAX)

function startAtOf(
  text: string | undefined,
  late: Parameters<typeof earliestEventAt>[1],
): number | undefined {
  if (text === undefined) return undefined
  const startAt = timeParser('auto', 0)(text)
  if (typeof startAt !== 'number') throw new UsageError(`--start-at: ${startAt.fault}`)
  const now = Math.floor(Date.now() / 1_000)
  const fault = findTimeFault(startAt, now)
  if (fault !== undefined) throw new UsageError(`--start-at ${fault}, which Tally refuses`)
  if (findTimeFault(earliestEventAt(startAt, late), now) !== undefined)
    throw new UsageError(
      'late events of --start-at lie more than five years back, which Tally refuses: give --late 0 or fewer --late-hours',
    )
  return startAt
}

function requireName(option: string, text: string): void {
  if (!NAME.test(text))
    throw new UsageError(`--${option} must be 1 to 64 letters, digits, dots, dashes or underscores`)
}
