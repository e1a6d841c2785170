import { setTimeout as sleep } from 'node:timers/promises'
import type { LogConsumer, PollLimits, Position } from '../../shared/event-log/event-log.ts'
import { Activity, type Trouble } from '../../shared/lifecycle/activity.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { LogLineSubject } from '../../shared/usage-lines/log-line-subjects.ts'
import type { LoaderPoint } from './crash-points.ts'
import { type Batch, batchGatherer, type BatchLimits } from './gather-batch.ts'
import type { LoaderMetrics, LoaderStep } from './loader-metrics.ts'
import { storeBlocks, type StoreBlocksDeps } from './store-blocks.ts'

export interface LoadUsageDeps extends Pick<StoreBlocksDeps, 'storeLines' | 'deadLetter'> {
  consumer: LogConsumer
  metrics: LoaderMetrics
  log: Logger
  /** Whether there is disk space to store more. While there is none, accepted usage waits in the event log. */
  hasRoom?: () => boolean
  /** Called at each crash point. */
  reached?: Reached<LoaderPoint>
}

export interface Loader extends Closeable {
  /**
   * The steps that have failed for at least this long without a break. The loader keeps trying, but usage is not
   * counted during that time.
   */
  listTroubles(forMs: number): Trouble[]
  /** Whether a step has been running for this long without an end or a failure. Then only a restart helps. */
  isStuck(forMs: number): boolean
}

/** The steps that store a batch. Each step is repeated until it succeeds. */
interface Target extends StoreBlocksDeps {
  commit: (positions: readonly Position[]) => Promise<void>
  metrics: LoaderMetrics
  reached: Reached<LoaderPoint>
}

const BACK_OFF_MS = 500
const NO_ROOM_MS = 500

/**
 * Moves usage from the event log into ClickHouse until it is closed. The offset is committed last. After a crash before
 * the commit, the batch is stored again, and the table collapses the rows of an event. In the other order, a crash
 * would lose the rows.
 *
 * The next batch is gathered while one is stored. While ClickHouse does not answer, both wait, so memory stays bounded.
 */
export function loadUsage(deps: LoadUsageDeps, limits: BatchLimits): Loader {
  const { consumer, metrics, log, hasRoom = () => true, reached = () => undefined } = deps
  const stopping = new AbortController()
  const { signal } = stopping
  const reading = new Activity('reading the event log')
  const storing = new Activity('storing usage')
  const poll = (wanted: PollLimits) =>
    reading
      .attempt(() => consumer.poll(wanted))
      .catch((err: unknown) => {
        metrics.failed('read')
        throw err
      })
  let isStoring = false
  const gather = batchGatherer({ poll }, limits, log, () => isStoring)
  const target: Target = {
    storeLines: (lines, subjects) => storing.attempt(() => storeTimed(lines, subjects, deps)),
    deadLetter: async (line, reason) => {
      const deadLetter = () => storing.attempt(() => deps.deadLetter(line, reason))
      await untilDone(deadLetter, 'dead_letter', deps, signal)
      metrics.deadLettered()
      reached('loader-dead-lettered')
    },
    commit: (positions) =>
      untilDone(() => storing.attempt(() => consumer.commit(positions)), 'commit', deps, signal),
    metrics,
    log,
    signal,
    reached,
  }
  const run = async () => {
    let stored = Promise.resolve(true)
    while (!signal.aborted) {
      if (!hasRoom()) {
        await sleep(NO_ROOM_MS, undefined, { signal }).catch(() => undefined)
        continue
      }
      const batch = await gather(signal)
      if (batch.positions.size === 0) continue
      reached('loader-gathered')
      // If the previous batch was not stored, committing this one would skip it.
      if (!(await stored)) break
      isStoring = true
      stored = store(batch, target).finally(() => {
        isStoring = false
      })
    }
    await stored
  }
  const running = run()
  return {
    name: 'loader',
    listTroubles: (forMs) =>
      [reading, storing]
        .map((activity) => activity.findTrouble(forMs))
        .filter((trouble) => trouble !== undefined),
    isStuck: (forMs) => reading.isStuck(forMs) || storing.isStuck(forMs),
    async close() {
      stopping.abort()
      await running
      await consumer.close()
    },
  }
}

/**
 * Stores a batch: rows and dead letters first, then the offsets. It gives up only if `signal` aborts during a failure.
 *
 * @returns whether the batch is stored
 */
async function store(batch: Batch, target: Target): Promise<boolean> {
  const { deadLetter, commit, metrics, log, signal, reached } = target
  try {
    await storeBlocks(batch.blocks, target)
    reached('loader-inserted')
    for (const { at, reason } of batch.rejected) {
      const { partition, offset, line } = at
      // The reason is left out, because it may quote the line.
      log.error({ partition, offset, line }, 'a line cannot be counted: it goes to the dead letters')
      await deadLetter(at, reason)
    }
    metrics.stored(batch)
    reached('loader-committing')
    await commit([...batch.positions].map(([partition, offset]) => ({ partition, offset })))
    reached('loader-committed')
    log.debug({ rows: batch.rows, bytes: batch.bytes }, 'loaded a batch')
    return true
  } catch (err) {
    if (!signal.aborted) throw err
    log.info(
      { rows: batch.rows },
      'stopping before a batch was stored: the batch will be read again after the next start',
    )
    return false
  }
}

async function storeTimed(
  lines: Buffer,
  subjects: readonly LogLineSubject[],
  { storeLines, metrics }: Pick<LoadUsageDeps, 'storeLines' | 'metrics'>,
): Promise<void> {
  const startedAt = performance.now()
  try {
    await storeLines(lines, subjects)
  } catch (err) {
    metrics.failed('insert')
    throw err
  }
  metrics.inserted((performance.now() - startedAt) / 1_000)
}

async function untilDone(
  work: () => Promise<void>,
  step: LoaderStep,
  { metrics, log }: Pick<LoadUsageDeps, 'metrics' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await work()
      return
    } catch (err) {
      metrics.failed(step)
      log.warn({ err, step }, 'a step of storing a batch failed, trying again')
      await sleep(BACK_OFF_MS, undefined, { signal })
    }
  }
}
