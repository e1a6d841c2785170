import type { dimensionRepository } from '../../shared/clickhouse/dimensions.ts'
import type { RatedState, ratingRunRepository } from '../../shared/clickhouse/rated-periods.ts'
import { groupBy } from '../../shared/collections/group-by.ts'
import type { ContractRecord } from '../../shared/domain/billing/stored-contract.ts'
import { DAY_S } from '../../shared/domain/time-range.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import { completeUpTo } from '../../shared/postgres/complete-up-to.ts'
import { contractRepository } from '../../shared/postgres/contracts.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { eventRevisionRepository } from '../../shared/postgres/event-revisions.ts'
import {
  type Micros,
  MICROS_PER_MS,
  MICROS_PER_SECOND,
  unixSeconds,
} from '../../shared/time/microsecond-clock.ts'
import {
  isChanged,
  nowIn,
  type OnePeriod,
  periodsOf,
  type Place as PlaceAlone,
  type PlaceNow,
  placeNow,
  type RatingDeps,
  readTogether,
} from './rate-periods.ts'

export interface RateContractsDeps extends RatingDeps {
  runs: ReturnType<typeof ratingRunRepository>
  copies: Pick<ReturnType<typeof dimensionRepository>, 'current'>
  /** Returns a time. ClickHouse has all events that were accepted before this time. */
  listedUpTo: () => Promise<Micros>
  /** Called before some periods are rated, so that other work need not wait for the end of the run. */
  besides: (signal: AbortSignal) => Promise<unknown>
}

export interface RatingRun {
  /** When the run was due, in Unix seconds. */
  dueAt: number
  /** When the next one is due, in Unix seconds. Then the run may end early, because open periods come first. */
  until: number
  signal: AbortSignal
}

/** A period that could not be rated. */
interface Failure {
  namespaceId: string
  error: Error
}

/** A namespace in a run. */
interface Place extends PlaceAlone {
  /** Up to when usage was rated before this run, in Unix seconds; undefined if no period is final. */
  since: number | undefined
}

const CONTRACTS_AT_ONCE = 50
/** The usage of so many periods is read together at most: other work waits until they are rated. */
const PERIODS_AT_ONCE = 50
/** The least time for periods that are over, in each run. */
const CLOSED_MS_MIN = 60_000
/** If so many periods fail in a run, something is wrong with a database, and the others would fail, too. */
const FAILURES_MAX = 10

/**
 * Rates the contracts of all companies: first the open periods, then those that are over, if they are not final yet or
 * if something changed on which they rest. Usage of some periods is read together, and then they are rated one after the
 * other, with rests, so that everything else goes on.
 *
 * A period that is stored since `dueAt` is not rated again. So a run that was interrupted goes on where it stopped.
 *
 * @returns a run. It resolves to whether all namespaces are done
 * @throws the first failure, after all other periods were rated
 */
export function contractRater(given: RateContractsDeps): (run: RatingRun) => Promise<boolean> {
  const deps = { ...given, besides: alternating(given.besides) }
  return async (run) => {
    const failures: Failure[] = []
    const places = await listPlaces(deps, run)
    const began = Date.now()
    const toEnd = { ...run, until: Infinity }
    for (const place of places) await rateContracts(deps, toEnd, place, { isOpen: true, failures })
    // Periods that are over get at least as much time as open ones, however soon the next run is due.
    const leastMs = Math.max(Date.now() - began, CLOSED_MS_MIN)
    const closing = { ...run, until: Math.max(run.until, (Date.now() + leastMs) / 1_000) }
    for (const place of places) {
      if (isOver(closing)) return false
      const mark = await readMark(deps, place)
      const { countedUpTo, ...pass } = await rateContracts(deps, closing, place, { isOpen: false, failures })
      if (isOver(closing)) return false
      await removeOthers(deps, place, pass)
      if (failures.some(({ namespaceId }) => namespaceId === place.namespaceId)) continue
      await deps.runs.note(place.namespaceId, run.dueAt, Math.min(mark, countedUpTo))
      deps.reached('rating-noted')
    }
    if (failures[0] !== undefined) throw failures[0].error
    return true
  }
}

/** Lets other work have at most as much time as passes between its turns, however much of it waits. */
function alternating(work: RateContractsDeps['besides']): RateContractsDeps['besides'] {
  let [endedAt, tookMs] = [-Infinity, 0]
  return async (signal) => {
    const began = performance.now()
    if (began - endedAt < tookMs) return
    await work(signal)
    endedAt = performance.now()
    tookMs = endedAt - began
  }
}

const isOver = ({ signal, until }: RatingRun): boolean => signal.aborted || Date.now() / 1_000 >= until

/** The namespaces that are not done yet, first those that were done least recently. */
async function listPlaces(
  { pool, rated, runs, copies }: RateContractsDeps,
  { dueAt }: RatingRun,
): Promise<Place[]> {
  const lastRuns = await runs.list(dueAt)
  const { fill } = await copies.current()
  const companies = await companyRepository(pool).list()
  const places: Place[] = []
  for (const { namespaceId } of companies) {
    const last = lastRuns.get(namespaceId)
    if (last?.dueAt === dueAt) continue
    // Runs of long ago are forgotten, for example when ratings were off.
    const since = last?.completeUpTo ?? (await rated.countedUpTo(namespaceId))
    places.push({ namespaceId, fill, since })
  }
  return places.sort((a, b) => (a.since ?? 0) - (b.since ?? 0))
}

/** The time up to which everything that was accepted or corrected can be read from now on. */
async function readMark({ pool, listedUpTo }: RateContractsDeps, { namespaceId }: Place): Promise<number> {
  const loadedUpTo = await listedUpTo()
  return unixSeconds(await inNamespace(pool, namespaceId, (db) => completeUpTo(db, namespaceId, loadedUpTo)))
}

/** What a pass through the contracts of a namespace found. */
interface Pass {
  began: Micros
  /** The ids of all contracts. */
  seen: Set<string>
  /**
   * The time up to which the usage of all final periods that were left as they are is counted, in Unix seconds. Those
   * that an interrupted run rated have no later usage, and the next run must look for it.
   */
  countedUpTo: number
}

/** Rates the periods of all contracts of a namespace that need it. */
async function rateContracts(
  deps: RateContractsDeps,
  run: RatingRun,
  listed: Place,
  { isOpen, failures }: { isOpen: boolean; failures: Failure[] },
): Promise<Pass> {
  const place = await placeNow(deps.pool, listed)
  const { namespaceId } = place
  const now = nowIn(place)
  const pass: Pass = { began: Date.now() * MICROS_PER_MS, seen: new Set(), countedUpTo: Infinity }
  const mayGoOn = async () => {
    await deps.besides(run.signal)
    return !isOver(run)
  }
  for (let startingAfter: string | undefined; ;) {
    if (!(await mayGoOn())) return pass
    const page = await inNamespace(deps.pool, namespaceId, (db) =>
      contractRepository(db).listRecords(namespaceId, {}, { limit: CONTRACTS_AT_ONCE, startingAfter }),
    )
    const contracts = page.items
    const ids = contracts.map(({ id }) => id)
    const states = groupBy(await deps.rated.list(namespaceId, ids), ({ contractId }) => contractId)
    const changed = isOpen ? new Map<string, Set<number>>() : await changedDays(deps, place, contracts)
    const due: OnePeriod[] = []
    for (const contract of contracts) {
      pass.seen.add(contract.id)
      const ofContract = new Map((states.get(contract.id) ?? []).map((state) => [state.startsAt, state]))
      const all = periodsOf(contract, now)
      const starts = new Set(all.map(({ startAt }) => startAt))
      if (!isOpen)
        await deps.rated.remove(
          namespaceId,
          [...ofContract.values()].filter(
            (state) => !starts.has(state.startsAt) && !isRatedIn(state, pass.began),
          ),
        )
      for (const period of all) {
        if (period.endAt > now !== isOpen) continue
        const state = ofContract.get(period.startAt)
        const days = changed.get(contract.accountId)
        const one = { contract, period, state }
        if (isDue(one, place, { days, dueAt: run.dueAt })) due.push(one)
        else if (state?.isFinal === true && isRatedSince(state, run))
          pass.countedUpTo = Math.min(pass.countedUpTo, state.usageAsOf)
      }
    }
    for (const periods of nearInTime(due)) {
      if (!(await mayGoOn())) return pass
      await ratePeriods(deps, run, place, { periods, failures })
    }
    if (!page.hasMore) return pass
    startingAfter = ids.at(-1)
  }
}

/**
 * Divides periods into those whose usage is read together, the newest first. A read looks through all usage between
 * the first and the last period. So together they take no longer than one by one.
 */
function nearInTime(periods: readonly OnePeriod[]): OnePeriod[][] {
  const groups: OnePeriod[][] = []
  let [from, to, total] = [Infinity, -Infinity, 0]
  for (const one of periods.toSorted((a, b) => b.period.startAt - a.period.startAt)) {
    const { startAt, endAt } = one.period
    ;[from, to, total] = [Math.min(from, startAt), Math.max(to, endAt), total + endAt - startAt]
    const group = groups.at(-1)
    if (group !== undefined && group.length < PERIODS_AT_ONCE && to - from <= total) group.push(one)
    else {
      groups.push([one])
      ;[from, to, total] = [startAt, endAt, endAt - startAt]
    }
  }
  return groups
}

/** Rates periods. A failure is of one period, and the others are rated all the same. */
async function ratePeriods(
  deps: RateContractsDeps,
  run: RatingRun,
  place: PlaceNow,
  { periods, failures }: { periods: readonly OnePeriod[]; failures: Failure[] },
): Promise<void> {
  const fail = (one: OnePeriod | undefined, cause: unknown) => {
    run.signal.throwIfAborted()
    const error = new Error(`contract ${one?.contract.id ?? ''} could not be rated`, { cause })
    failures.push({ namespaceId: place.namespaceId, error })
    if (failures.length >= FAILURES_MAX) throw error
  }
  let together = PERIODS_AT_ONCE
  for (let done = 0; done < periods.length && !isOver(run);) {
    const some = periods.slice(done, done + together)
    const rates = await readTogether(deps, place, some, run.signal).catch((err: unknown) => {
      run.signal.throwIfAborted()
      // Those that can be read are found by halves.
      if (some.length > 1) return undefined
      fail(some[0], err)
      return []
    })
    together = rates === undefined ? Math.ceil(some.length / 2) : Math.min(together * 2, PERIODS_AT_ONCE)
    if (rates === undefined) continue
    for (const [index, rate] of rates.entries()) {
      if (isOver(run)) return
      await rate().catch((err: unknown) => {
        fail(some[index], err)
      })
    }
    done += Math.max(rates.length, 1)
  }
}

/** A rating of the future is of a clock that was ahead, and has gone back. */
const isRatedIn = ({ ratedAt }: RatedState, began: Micros): boolean =>
  ratedAt >= began && ratedAt <= Date.now() * MICROS_PER_MS

const isRatedSince = (state: RatedState, { dueAt }: Pick<RatingRun, 'dueAt'>): boolean =>
  isRatedIn(state, dueAt * MICROS_PER_SECOND)

/** Whether a period must be rated in this run. @param days those on which usage of its account changed */
function isDue(
  { contract, period: { startAt, endAt }, state }: OnePeriod,
  place: Place,
  { days, dueAt }: { days: ReadonlySet<number> | undefined; dueAt: number },
): boolean {
  if (state === undefined || isChanged({ contract, state }, place)) return true
  if (isRatedSince(state, { dueAt })) return false
  if (!state.isFinal) return true
  for (const day of days ?? []) if (day * DAY_S < endAt && (day + 1) * DAY_S > startAt) return true
  return false
}

/** For each account, the days of events that were accepted or corrected since the run before. */
async function changedDays(
  { pool, runs }: RateContractsDeps,
  { namespaceId, since }: Place,
  contracts: readonly ContractRecord[],
): Promise<Map<string, Set<number>>> {
  const changed = new Map<string, Set<number>>()
  if (since === undefined || contracts.length === 0) return changed
  const accountIds = [...new Set(contracts.map(({ accountId }) => accountId))]
  const accepted = await runs.listAcceptedDays(namespaceId, accountIds, since)
  const corrected = await inNamespace(pool, namespaceId, (db) =>
    eventRevisionRepository(db).listCorrectedDays(namespaceId, accountIds, since * MICROS_PER_SECOND),
  )
  for (const { accountId, days } of [...accepted, ...corrected])
    changed.set(accountId, new Set([...(changed.get(accountId) ?? []), ...days]))
  return changed
}

/** Removes the periods of contracts that do not exist: PostgreSQL went back to an earlier state. */
async function removeOthers(
  { rated }: RateContractsDeps,
  { namespaceId }: Place,
  { seen, began }: Pick<Pass, 'seen' | 'began'>,
): Promise<void> {
  const others = (await rated.listContracts(namespaceId)).filter((id) => !seen.has(id))
  for (let from = 0; from < others.length; from += CONTRACTS_AT_ONCE) {
    const states = await rated.list(namespaceId, others.slice(from, from + CONTRACTS_AT_ONCE))
    await rated.remove(
      namespaceId,
      states.filter((state) => !isRatedIn(state, began)),
    )
  }
}
