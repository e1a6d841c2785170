import { setTimeout as sleep } from 'node:timers/promises'
import { inUse } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import type { LatestSums } from '../../shared/clickhouse/usage/latest-sums.ts'
import { Activity, type Trouble } from '../../shared/lifecycle/activity.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { closeSlots } from './close-slots.ts'
import type { RollupConfig } from './config.ts'
import type { UsageCounter } from './count-usage.ts'
import { MARKS_AT_ONCE, recomputeLate } from './recompute-late.ts'
import type { RollupDeps } from './rollup-deps.ts'
import type { RollupMetrics, RollupStep } from './rollup-metrics.ts'
import { RowBudget } from './row-budget.ts'

export interface KeepRollupsDeps extends Omit<RollupDeps, 'signal'> {
  /** Builds the first epoch, unless another process is building it. */
  build: (signal: AbortSignal) => Promise<void>
  /** Counts usage. It runs between the other steps, because it has no connection of its own. */
  counter: UsageCounter
  /** Gets the number of the epoch that readers use, in each round. */
  latestSums?: Pick<LatestSums, 'useEpoch'> | undefined
  metrics: RollupMetrics
  log: Logger
}

/** Keeps rollups up to date until it is closed. */
export interface RollupKeeper extends Closeable {
  /** The steps that have failed for at least this long without a break. */
  listTroubles(forMs: number): Trouble[]
  /** Whether a step has been running for this long without an end or a failure. */
  isStuck(forMs: number): boolean
}

/**
 * The maximum number of unused rows that the budget saves. If more were read for late usage at once, reports and
 * answers would slow down.
 */
const ROWS_SAVED_MAX = 5_000_000
const DROP_EVERY_MS = 60_000
/**
 * No service is still cancelling marks that were placed this long ago. If the changes of such a mark add up to less
 * than zero, the mark was cancelled twice and needs repair.
 */
const REPAIRED_AFTER_S = 60
/** How long late usage is recomputed before ended slots are closed again. */
const LATE_AT_ONCE_MS = 3_000
const CANCEL_EVERY_MS = 250

/**
 * Works in rounds: it closes the slots that ended, and recomputes slots with late usage.
 *
 * Late usage is recomputed slowly on purpose. While a slot is marked, readers take it from the events, which costs each
 * of them a little. If each late batch were recomputed at once, the same rows would be read over and over.
 */
export function keepRollups(deps: KeepRollupsDeps, config: RollupConfig): RollupKeeper {
  const { tables, counter } = deps
  const stopping = new AbortController()
  const working = new Activity('computing rollups')
  const running = runRounds({ ...deps, signal: stopping.signal }, config, working)
  return {
    name: 'rollups',
    listTroubles: (forMs) => [working.findTrouble(forMs)].filter((trouble) => trouble !== undefined),
    isStuck: (forMs) => working.isStuck(forMs),
    async close() {
      stopping.abort()
      const ended = running.then(() => true)
      // A statement may take minutes, but a process has only seconds to end.
      while (!(await Promise.race([ended, sleep(CANCEL_EVERY_MS, false)])))
        for (const work of [tables, counter]) await work.cancel().catch(() => undefined) // without ClickHouse, the statement ends by itself
    },
  }
}

interface RoundDeps extends KeepRollupsDeps {
  signal: AbortSignal
}

/** Runs rounds until the signal is aborted. Of several failures in a row, only the first is logged as a warning. */
async function runRounds(deps: RoundDeps, config: RollupConfig, working: Activity): Promise<void> {
  const { signal, metrics, log } = deps
  const isStopping = (): boolean => signal.aborted
  const round = rollupRound(deps, config)
  let isFailing = false
  while (!isStopping()) {
    try {
      const { isBuilt } = await working.attempt(round)
      // The build runs outside of attempt(), because a first build over years of usage takes long without being stuck.
      if (!isBuilt) await countFailure(metrics, 'build', () => deps.build(signal))
      isFailing = false
    } catch (err) {
      if (isStopping()) return
      log[isFailing ? 'debug' : 'warn'](
        { err: loggableError(err) },
        'could not compute rollups, trying again',
      )
      isFailing = true
    }
    await sleep(config.pauseMs, undefined, { signal }).catch(() => undefined)
  }
}

/**
 * Makes the function that runs one round. Each step runs, even when another step fails.
 *
 * @returns the function. It returns whether rollups are built, and throws the first failure
 */
function rollupRound(deps: RoundDeps, config: RollupConfig): () => Promise<{ isBuilt: boolean }> {
  const { counter, metrics, signal } = deps
  const budget = new RowBudget(config.rowsPerS, ROWS_SAVED_MAX)
  const late = lateWork(deps, config, budget)
  const tidy = tidyWork(deps, config)
  return async () => {
    let isBuilt = true
    const close = async () => {
      isBuilt = await closeEnded(deps, config, budget)
    }
    const failures: unknown[] = []
    for (const [name, work] of [
      ['close', close],
      ['late', late],
      ['drop', tidy],
      ['count', () => counter.step(signal)],
    ] as const)
      await countFailure(metrics, name, work).catch((err: unknown) => failures.push(err))
    if (failures.length > 0) throw failures[0]
    return { isBuilt }
  }
}

async function countFailure(
  metrics: RollupMetrics,
  step: RollupStep,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (err) {
    metrics.failed(step)
    throw err
  }
}

/** Closes the slots that ended. @returns false when no rollups were built yet */
async function closeEnded(deps: RoundDeps, config: RollupConfig, budget: RowBudget): Promise<boolean> {
  const startedAt = performance.now()
  const closed = await closeSlots(deps, config.graceS)
  if (closed === undefined) return false
  deps.latestSums?.useEpoch(closed.epoch)
  deps.metrics.closed(closed, secondsSince(startedAt))
  budget.earn(closed.rowsRead)
  return true
}

/** Makes the step that drops rollups without readers, and repairs marks, once in a while. */
function tidyWork({ epochs, tables, dirty }: RoundDeps, config: RollupConfig): () => Promise<void> {
  let droppedAt = -Infinity
  return async () => {
    if (performance.now() - droppedAt < DROP_EVERY_MS) return
    droppedAt = performance.now()
    await dropOldEpochs({ epochs, tables }, config.dropAfterS)
    await dirty.repair(REPAIRED_AFTER_S)
  }
}

/** Makes the step that recomputes late usage, for a limited time and within the budget of rows. */
function lateWork(deps: RoundDeps, config: RollupConfig, budget: RowBudget): () => Promise<void> {
  /** Halved after each failure, until a statement succeeds. */
  let atOnce = MARKS_AT_ONCE
  return async () => {
    const since = performance.now()
    // The time is limited. Otherwise, if there were always late usage, no slot would ever be closed.
    while (!deps.signal.aborted && performance.now() - since < LATE_AT_ONCE_MS) {
      if (!budget.isLeft()) break
      const startedAt = performance.now()
      const tried = atOnce
      atOnce = Math.ceil(tried / 2)
      const recomputed = await recomputeLate(deps, config, tried)
      atOnce = Math.min(2 * tried, MARKS_AT_ONCE)
      deps.metrics.recomputed(recomputed, secondsSince(startedAt))
      budget.spend(recomputed.rowsRead)
      if (recomputed.marks === 0) break
    }
  }
}

/**
 * Drops the rollups of epochs that no service reads or writes any more: epochs that were given up, and epochs before
 * the one in use.
 */
async function dropOldEpochs(
  { epochs, tables }: Pick<KeepRollupsDeps, 'epochs' | 'tables'>,
  dropAfterS: number,
): Promise<void> {
  const [listed, now] = [await epochs.list(), await epochs.now()]
  const current = inUse(listed)
  const isReplaced = (epoch: number) =>
    current !== undefined && epoch < current.epoch && now - current.changedAt > dropAfterS
  const old = listed.filter(
    ({ epoch, state, changedAt }) =>
      epoch > 0 && now - changedAt > dropAfterS && (state === 'given up' || isReplaced(epoch)),
  )
  if (old.length > 0) await tables.drop(old.map(({ epoch }) => epoch))
}

const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1_000
