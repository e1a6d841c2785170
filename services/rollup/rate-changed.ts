import type { DimensionCopy, dimensionRepository } from '../../shared/clickhouse/dimensions.ts'
import { contractRepository } from '../../shared/postgres/contracts.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { isChanged, nowIn, periodsOf, placeNow, type RatingDeps, readTogether } from './rate-periods.ts'

export interface RateChangedDeps extends RatingDeps {
  copies: Pick<ReturnType<typeof dimensionRepository>, 'current' | 'listChangedContracts'>
  /** When the last run was due, in Unix seconds. It has rated, or will rate, every contract that was changed before. */
  lastDueAt: () => number
  /** Called when a contract could not be rated. The next run tries again. */
  onFailed: (contractId: string, err: unknown) => void
}

/** Rates contracts between runs. */
export interface ChangedContractRater {
  /** Whether there is something to do. */
  isDue: () => boolean
  /**
   * Rates some periods of one contract. Companies take turns.
   *
   * @returns whether a contract had its turn
   * @throws what went wrong, if no contract could be rated several times in a row
   */
  turn: (signal: AbortSignal) => Promise<boolean>
}

const LOOK_MS = 10_000
/** So many contracts of a company wait at most. The others are rated by the next run. */
const WAITING_MAX = 1_000
const PERIODS_A_TURN = 10
/** If so many contracts fail in a row, something is wrong with a database. */
const FAILURES_MAX = 3
/** The clock of PostgreSQL, by which contracts are changed, may be behind by this much. */
const CLOCK_MARGIN_S = 300

/**
 * Rates contracts soon after they were made or changed. What it looks at are the copies of contracts, which have the
 * number of each contract's last change. Whether a period is rated since, its rating tells. So it does not matter what
 * a process that stopped knew, and which process goes on.
 */
export function changedContractRater(deps: RateChangedDeps, lookMs = LOOK_MS): ChangedContractRater {
  const waiting = new Map<string, Set<string>>()
  let seen: DimensionCopy = { fill: 0, position: 0 }
  let lookedAt = -Infinity
  let failures = 0
  const isLookDue = () => performance.now() - lookedAt >= lookMs
  const look = async () => {
    const copy = await deps.copies.current()
    const after = copy.fill === seen.fill ? seen.position : 0
    const since = deps.lastDueAt() - CLOCK_MARGIN_S
    const changed =
      copy.position > after ? await deps.copies.listChangedContracts(after, since, WAITING_MAX) : []
    for (const { namespaceId, contractId } of changed) {
      const ofCompany = waiting.get(namespaceId) ?? new Set()
      if (ofCompany.size < WAITING_MAX) waiting.set(namespaceId, ofCompany.add(contractId))
    }
    seen = copy
    lookedAt = performance.now()
  }
  const fail = (contractId: string, err: unknown) => {
    deps.onFailed(contractId, err)
    if (++failures < FAILURES_MAX) return
    failures = 0
    // Look at all of them again.
    seen = { fill: 0, position: 0 }
    throw err
  }
  const turn = async (signal: AbortSignal) => {
    if (isLookDue()) await look()
    const [namespaceId, ofCompany] = waiting.entries().next().value ?? []
    const [contractId] = ofCompany ?? []
    if (namespaceId === undefined || ofCompany === undefined || contractId === undefined) return false
    waiting.delete(namespaceId)
    ofCompany.delete(contractId)
    try {
      // Both are last in their rows from here on.
      if (!(await rateSome(deps, { namespaceId, contractId, fill: seen.fill }, signal)))
        ofCompany.add(contractId)
      failures = 0
    } catch (err) {
      signal.throwIfAborted()
      fail(contractId, err)
    } finally {
      if (ofCompany.size > 0) waiting.set(namespaceId, ofCompany)
    }
    return true
  }
  return { isDue: () => waiting.size > 0 || isLookDue(), turn }
}

/**
 * Rates some periods of a contract that were never rated, or last before the contract was changed: the newest first.
 *
 * @returns whether no other is left
 */
async function rateSome(
  deps: RateChangedDeps,
  { namespaceId, contractId, fill }: { namespaceId: string; contractId: string; fill: number },
  signal: AbortSignal,
): Promise<boolean> {
  const { pool, rated } = deps
  const place = await placeNow(pool, { namespaceId, fill })
  const contract = await inNamespace(pool, namespaceId, (db) =>
    contractRepository(db).findRecord(namespaceId, contractId),
  )
  if (contract === undefined) return true
  const states = await rated.list(namespaceId, [contractId])
  const byStart = new Map(states.map((state) => [state.startsAt, state]))
  const periods = periodsOf(contract, nowIn(place))
  const starts = new Set(periods.map(({ startAt }) => startAt))
  await rated.remove(
    namespaceId,
    states.filter(({ startsAt }) => !starts.has(startsAt)),
  )
  const changed = periods
    .map((period) => ({ contract, period, state: byStart.get(period.startAt) }))
    .filter((one) => isChanged(one, place))
  if (changed.length === 0) return true
  const rates = await readTogether(deps, place, changed.slice(0, PERIODS_A_TURN), signal)
  for (const rate of rates) {
    signal.throwIfAborted()
    await rate()
  }
  return rates.length === changed.length
}
