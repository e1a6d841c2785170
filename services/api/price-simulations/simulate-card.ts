import type { FairSemaphore } from '../../../shared/batching/fair-semaphore.ts'
import { requestSemaphore } from '../../../shared/batching/request-semaphore.ts'
import type { simulatedUsageReader } from '../../../shared/clickhouse/usage/simulated-usage.ts'
import type { CardLine } from '../../../shared/domain/billing/contract.ts'
import { minorUnitsOf } from '../../../shared/domain/billing/invoice.ts'
import type { Cadence } from '../../../shared/domain/billing/periods.ts'
import { ratesInForce } from '../../../shared/domain/billing/plan.ts'
import { pricesOfRate } from '../../../shared/domain/billing/rate.ts'
import {
  compareLines,
  type SimulatedAccount,
  type SimulatedCard,
  simulatedPeriods,
  type SimulationTotals,
  simulationTotals,
} from '../../../shared/domain/billing/simulate.ts'
import type { Page, PageRequest } from '../../../shared/domain/page.ts'
import { DAY_S, type TimeRange } from '../../../shared/domain/time-range.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace, inNamespaceUndone } from '../../../shared/postgres/core/transaction.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'
import { type Micros, unixSeconds } from '../../../shared/time/microsecond-clock.ts'
import { type CardChangeBody, changeCard } from '../rate-cards/change-card.ts'
import { rateAccounts, type RatedAccount, type RatedWays } from './rate-accounts.ts'
import { listSimulatedAccounts } from './simulated-accounts.ts'

export interface SimulationDeps {
  pool: Pool
  usage: ReturnType<typeof simulatedUsageReader>
  /** Returns a time before which every accepted event is stored. */
  listedUpTo: () => Promise<Micros>
  /** Limits the simulations that hold the usage of many accounts in memory; see simulationSemaphore. */
  semaphore: FairSemaphore
}

/** The maximum number of simulations at the same time. Each has up to ROWS_MAX rows in memory (rate-accounts.ts). */
const AT_ONCE = 2
const WAITING_MAX = 100
/** How many simulations of one company may wait. */
const WAITING_MAX_OF_ONE = 10

export const simulationSemaphore = (): FairSemaphore =>
  requestSemaphore('is simulated', {
    atOnce: AT_ONCE,
    waitingMax: WAITING_MAX,
    waitingMaxOfOne: WAITING_MAX_OF_ONE,
  })

/** A requested simulation. Times are Unix seconds. */
export interface SimulationRequest {
  rateCardId: string
  range: TimeRange
  /** The length of a period; undefined: the whole range is one period. */
  cadence: Cadence | undefined
  /** Changes of the card for this simulation only; undefined: the card as it is. */
  changes: CardChangeBody | undefined
  /** The baseline: `contracts` (the card that each account follows), `none`, or the id of a card. */
  against: string
  /** Undefined: all accounts that used something in the range, or follow a card at some second of it. */
  accountIds: readonly string[] | undefined
  page: PageRequest
}

/** The amounts that accounts would pay, in the card's currency. */
export interface Simulation {
  /** In Unix seconds. Every event accepted before this time is counted. */
  usageAsOf: number
  currency: string
  periods: readonly TimeRange[]
  /** Ordered by account id. */
  accounts: Page<SimulatedAccount & RatedAccount>
  /** Totals of all accounts, and how many accounts were left out because of their currency. Only on the first page. */
  totals: (SimulationTotals & { inOtherCurrencies: number }) | undefined
}

export type SimulateCard = (
  namespaceId: string,
  request: SimulationRequest,
  now: number,
  signal: AbortSignal,
) => Promise<Simulation>

/** Replaces the id of a contract line when a card is simulated without a contract. */
export const NO_CONTRACT_LINE = ''

const RANGE_DAYS_MAX = 366
/** The maximum product of accounts and periods. A request has no time for more, even with few rates. */
const ACCOUNT_PERIODS_MAX = 500_000
/** The maximum number of lines. Each account has a line in each period for each price that the rates name. */
const LINES_MAX = 10_000_000

/**
 * Computes the amounts that accounts would pay under a card, compared with the baseline. Lines are for whole periods,
 * and the function that previews use makes them. Nothing is stored: changes of the card are rolled back before usage is
 * read.
 *
 * @param signal aborts the simulation
 * @throws DomainError not_found when there is no such card; unprocessable for a range that is empty, too long or ends
 *   in the future, and for a card or an account that cannot be compared; also for the reasons of changeCard,
 *   listSimulatedAccounts and rateAccounts
 */
export function simulateCard({ pool, usage, listedUpTo, semaphore }: SimulationDeps): SimulateCard {
  return async (namespaceId, request, now, signal) => {
    const { range, accountIds, page } = request
    requireRange(range, now)
    const usageAsOf = unixSeconds(await listedUpTo()) // read first: the reads below find all usage accepted before
    const { currency, ...candidate } = await readCandidate(pool, namespaceId, request, now)
    const baseline = await readBaseline(pool, namespaceId, request, currency)
    const periods = simulatedPeriods(range, request.cadence)
    const found = await listSimulatedAccounts(
      pool,
      usage,
      namespaceId,
      {
        range,
        accountIds,
        currency: baseline === 'followed' ? currency : undefined,
        startingAfter: page.startingAfter,
      },
      signal,
    )
    const { startingAfter = '', limit } = page
    const isFirst = startingAfter === ''
    const toCome = found.ids.filter((id) => id > startingAfter)
    const ways = { periods, minorUnits: minorUnitsOf(currency), candidate, baseline }
    const wanted = isFirst ? toCome : toCome.slice(0, limit)
    if (wanted.length * periods.length > ACCOUNT_PERIODS_MAX)
      throw new DomainError(
        'unprocessable',
        `cadence: ${wanted.length} accounts in ${periods.length} periods are more than can be rated at once, at most ${ACCOUNT_PERIODS_MAX} accounts times periods: ask for longer or fewer periods, or for some account_ids`,
      )
    const linesOfPeriod = [candidate, ...(typeof baseline === 'object' ? [baseline] : [])]
      .flatMap(({ rates }) => rates)
      .reduce((count, rate) => count + pricesOfRate(rate).length, 0)
    if (wanted.length * periods.length * linesOfPeriod > LINES_MAX)
      throw new DomainError(
        'unprocessable',
        `cadence: ${wanted.length} accounts, in ${periods.length} periods by ${linesOfPeriod} prices each, are more than can be rated at once, at most ${LINES_MAX} lines: ask for longer or fewer periods, or for some account_ids`,
      )
    const shown: (SimulatedAccount & RatedAccount)[] = []
    const all: SimulatedAccount[] = []
    await semaphore.run(
      async () => {
        for await (const rated of rateAccounts({ pool, usage }, namespaceId, ways, wanted, signal)) {
          const compared = compareLines(rated.accountId, rated.baselineLines, rated.candidateLines)
          all.push(compared)
          if (shown.length < limit) shown.push({ ...compared, ...rated })
        }
      },
      { tenant: namespaceId, signal },
    )
    return {
      usageAsOf,
      currency,
      periods,
      accounts: { items: shown, hasMore: toCome.length > limit },
      totals: isFirst ? { ...simulationTotals(all), inOtherCurrencies: found.inOtherCurrencies } : undefined,
    }
  }
}

function requireRange({ startAt, endAt }: TimeRange, now: number): void {
  const refuse = (text: string) => new DomainError('unprocessable', `end_at: ${text}`)
  if (endAt <= startAt) throw refuse('must be after start_at')
  if (endAt - startAt > RANGE_DAYS_MAX * DAY_S)
    throw refuse(`lies more than ${RANGE_DAYS_MAX} days after start_at`)
  if (endAt > now) throw refuse('lies in the future')
}

/**
 * Reads the card with the changes. All periods use the same rates: the rates in force when the range begins, or at the
 * last time in the changes if that is later.
 */
function readCandidate(
  pool: Pool,
  namespaceId: string,
  { rateCardId, range, changes }: SimulationRequest,
  now: number,
): Promise<SimulatedCard & { currency: string }> {
  const inTransaction = changes === undefined ? inNamespace : inNamespaceUndone
  return inTransaction(pool, namespaceId, async (db) => {
    const card =
      changes === undefined
        ? await rateCardRepository(db).find(namespaceId, rateCardId)
        : await changeCard(db, namespaceId, rateCardId, changes, () => Promise.resolve(now))
    if (card === undefined) throw new DomainError('not_found', 'no such rate card')
    const at = Math.max(range.startAt, ...instantsOf(changes, now))
    return { currency: card.currency, ...(await readCard(db, namespaceId, rateCardId, at)) }
  })
}

function instantsOf(changes: CardChangeBody | undefined, now: number): number[] {
  if (changes === undefined) return []
  const { effective_at: effectiveAt = now, add } = changes
  return [effectiveAt, ...add.map(({ starts_at: startsAt = effectiveAt }) => startsAt)]
}

/** Runs outside the transaction of the changes, so a card that is compared with itself is read without the changes. */
function readBaseline(
  pool: Pool,
  namespaceId: string,
  { against, range }: SimulationRequest,
  currency: string,
): Promise<RatedWays['baseline']> {
  if (against === 'contracts') return Promise.resolve('followed')
  if (against === 'none') return Promise.resolve('nothing')
  return inNamespace(pool, namespaceId, async (db) => {
    const card = await rateCardRepository(db).find(namespaceId, against)
    if (card === undefined) throw new DomainError('unprocessable', 'against: there is no such rate card')
    if (card.currency !== currency)
      throw new DomainError(
        'unprocessable',
        `against: the rate card is in ${card.currency}, not in ${currency}`,
      )
    return readCard(db, namespaceId, against, range.startAt)
  })
}

/** Reads a card with the rates that are in force at `at`, in Unix seconds. */
async function readCard(
  db: PoolClient,
  namespaceId: string,
  rateCardId: string,
  at: number,
): Promise<SimulatedCard> {
  const rates = await rateCardRepository(db).listRatesOf(namespaceId, [rateCardId])
  return { line: plainLine(rateCardId), rates: ratesInForce(rates.get(rateCardId) ?? [], at) }
}

const plainLine = (rateCardId: string): CardLine => ({
  kind: 'card',
  id: NO_CONTRACT_LINE,
  startsAt: 0,
  endsAt: null,
  rateCardId,
  priceOverrides: [],
  discountPercent: '0',
})
