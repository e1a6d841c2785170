import type { ReporterPoint } from './spool/points.ts'
import { SPOOL_TIMINGS, type SpoolTimings } from './spool/spool.ts'

export interface SpoolSettings {
  /** A folder that stays. Several processes may use one. */
  dir: string
  /** How large the files of all processes may be together; default: 1 GiB. */
  bytesMax?: number
  /** `group`: synced to the disk, so that a power cut loses nothing. `os`: only a crash of the process loses nothing. */
  sync?: 'group' | 'os'
}

/** What is wrong, or was: a state that changed. */
export interface ReporterProblem {
  state: 'failing' | 'blocked' | 'full'
  text: string
}

export interface ReporterOptions {
  /** Without it, events are only in memory until Tally has them. */
  spool?: SpoolSettings
  batchEvents?: number
  batchBytes?: number
  /** How long the first event of a batch waits for others. */
  lingerMs?: number
  /** How many requests may be under way at the same time. */
  inFlight?: number
  /** How many events may be in memory, and how large they may be together; with a spool 8,000 and 8 MiB. */
  queueEvents?: number
  queueBytes?: number
  /** Without a spool: how long `report()` tries. */
  giveUpAfterMs?: number
  /** For platforms that stop a process after its answer: called with a promise for each burst of events. */
  waitUntil?: (promise: Promise<unknown>) => void
  /** Whether accounts are made whose external id is not found. */
  createAccounts?: boolean
  /** Signals on which the reporter closes. Then the process gets the signal again. */
  closeOnSignals?: readonly NodeJS.Signals[]
  onRejected?: (event: string, reason: string) => void
  onProblem?: (problem: ReporterProblem) => void
  onAccepted?: (count: number) => void
}

/** What tests change beyond the options. */
export interface Internals {
  timings: SpoolTimings
  reached: (point: ReporterPoint) => void
}

export const INTERNALS: Internals = { timings: SPOOL_TIMINGS, reached: () => undefined }

const MIB = 1_024 * 1_024

export const DEFAULTS = {
  batchEvents: 1_000,
  batchBytes: MIB,
  lingerMs: 200,
  inFlight: 4,
  queueEvents: 100_000,
  queueBytes: 32 * MIB,
  giveUpAfterMs: 120_000,
  spoolBytesMax: 1_024 * MIB,
}

/**
 * With a spool, what waits longer is read back from the disk. Why no more: V8 lets its heap grow to about four times what
 * is in use. Batches under way and the next ones fit in.
 */
const QUEUE_WITH_SPOOL = { queueEvents: 8_000, queueBytes: 8 * MIB }

/** The largest number of events that Tally takes in one request. */
const BATCH_EVENTS_MAX = 1_000

/** Fills in defaults. @throws RangeError when a number is out of range */
export function boundsOf(options: ReporterOptions): typeof DEFAULTS {
  const bounds = { ...DEFAULTS, ...(options.spool && QUEUE_WITH_SPOOL) }
  const given = { ...options, spoolBytesMax: options.spool?.bytesMax }
  for (const name of Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]) {
    const value = given[name] ?? bounds[name]
    const least = name === 'lingerMs' ? 0 : 1
    if (!Number.isFinite(value) || value < least) throw new RangeError(`${name}: must be at least ${least}`)
    bounds[name] = value
  }
  if (bounds.batchEvents > BATCH_EVENTS_MAX)
    throw new RangeError(`batchEvents: must be at most ${BATCH_EVENTS_MAX}`)
  return bounds
}
