import type {
  SimulatedUsage,
  simulatedUsageReader,
} from '../../../shared/clickhouse/usage/simulated-usage.ts'
import { groupBy } from '../../../shared/collections/group-by.ts'
import type { CardLine } from '../../../shared/domain/billing/contract.ts'
import { namedValues } from '../../../shared/domain/billing/named-values.ts'
import { ratesInForce } from '../../../shared/domain/billing/plan.ts'
import type { PriceRecord } from '../../../shared/domain/billing/price-record.ts'
import { pricesOfRate, type Rate } from '../../../shared/domain/billing/rate.ts'
import type { InvoiceLine } from '../../../shared/domain/billing/rate-usage.ts'
import { type SimulatedCard, simulateLines } from '../../../shared/domain/billing/simulate.ts'
import type { TimeRange } from '../../../shared/domain/time-range.ts'
import type { UsageSource } from '../../../shared/domain/usage-source.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { yielder } from '../../../shared/lifecycle/yielder.ts'
import { contractLineRepository } from '../../../shared/postgres/contract-lines.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { priceRepository } from '../../../shared/postgres/prices.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'

export interface RateAccountsDeps {
  pool: Pool
  usage: Pick<ReturnType<typeof simulatedUsageReader>, 'read'>
  /** The maximum number of rows of usage in memory. Only tests set it. */
  rowsMax?: number
  /** The maximum number of rows of a single account. Only tests set it; the default is ROWS_MAX. */
  rowsMaxOfOne?: number
}

/** The two ways in which each account is rated: by the candidate and by the baseline. */
export interface RatedWays {
  /** At least one. Each period begins when the one before ends. */
  periods: readonly TimeRange[]
  minorUnits: number
  candidate: SimulatedCard
  /**
   * The candidate is compared with this: one card for all accounts, nothing, or the card that each account follows when
   * the first period begins. In the last case, the candidate gets the overrides and the discount of the account's line.
   */
  baseline: SimulatedCard | 'nothing' | 'followed'
}

/** The charges of an account by the baseline and by the candidate. */
export interface RatedAccount {
  accountId: string
  baselineLines: InvoiceLine[]
  candidateLines: InvoiceLine[]
}

/** Limits the memory of a simulation: it reads at most this many rows of usage at a time. */
const ROWS_MAX = 300_000
/**
 * A guess of how many sets of property values an account uses in a period. It decides how many accounts are read
 * together at first.
 */
const SETS_LIKELY = 20
/** Longer lists of ids are passed as the first and the last id, because parameters have a size limit. */
const LISTED_MAX = 1_000

/**
 * Rates accounts one after the other, and yields the event loop in between.
 *
 * @param accountIds sorted; if there are more than LISTED_MAX, they must include all accounts with usage between the
 *   first id and the last
 * @param signal aborts the rating
 * @throws DomainError unprocessable when the cards name too many values of properties, or the usage of one account has
 *   too many rows; overloaded when usage could not be read in time, or when `signal` aborted the rating
 */
export async function* rateAccounts(
  deps: RateAccountsDeps,
  namespaceId: string,
  ways: RatedWays,
  accountIds: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<RatedAccount> {
  const fixed = [ways.candidate, ...(typeof ways.baseline === 'object' ? [ways.baseline] : [])]
  const rowsOfAccount = ways.periods.length * likelyRows(fixed.flatMap(({ rates }) => rates))
  const { rowsMax = ROWS_MAX, rowsMaxOfOne = ROWS_MAX } = deps
  const mostAtATime = Math.max(1, Math.floor(rowsMax / rowsOfAccount))
  let atATime = mostAtATime
  const yielding = yielder()
  for (let rated = 0; rated < accountIds.length;) {
    const some = accountIds.slice(rated, rated + atATime)
    const { followed, prices } = await inNamespace(deps.pool, namespaceId, (db) =>
      readTerms(db, namespaceId, ways, some),
    )
    const rates = [...new Set([...fixed, ...followed.values()].flatMap((card) => card.rates))]
    const wanted = {
      accounts: namedOrBetween(some),
      periods: ways.periods,
      sources: sourcesOf(rates),
      named: namedValues(rates),
      rowsMax: some.length === 1 ? rowsMaxOfOne : rowsMax,
    }
    const usage = await deps.usage.read(namespaceId, wanted, signal)
    if (usage === undefined) {
      if (some.length === 1)
        throw new DomainError(
          'unprocessable',
          `account_ids: usage of ${some[0] ?? ''} is split in more than ${rowsMaxOfOne} ways, by period, metric and values of properties: ask for fewer periods`,
        )
      atATime = Math.floor(some.length / 2)
      continue
    }
    // One account with much usage may have halved the number of accounts. The number grows again here.
    if (2 * countRows(usage) <= rowsMax) atATime = Math.min(2 * some.length, mostAtATime)
    rated += some.length
    for (const accountId of some) {
      if (signal.aborted) throw new DomainError('overloaded', 'the simulation was given up')
      const rows = usage.get(accountId)
      const { baseline, candidate } = cardsOf(ways, followed.get(accountId))
      const account: RatedAccount = { accountId, baselineLines: [], candidateLines: [] }
      for (const [index, range] of ways.periods.entries()) {
        const rowsBySource = groupBy(rows?.[index] ?? [], ({ source }) => source)
        const linesBy = (card: SimulatedCard | undefined) =>
          simulateLines(card, [{ ...range, rowsBySource }], prices, ways.minorUnits)
        account.baselineLines.push(...linesBy(baseline))
        account.candidateLines.push(...linesBy(candidate))
        if (yielding.isDue()) await yielding.yieldToOthers()
      }
      yield account
    }
  }
}

const sourcesOf = (rates: readonly Rate[]): UsageSource[] => [
  ...new Set(rates.flatMap(({ source }) => source ?? [])),
]

/** How many rows of usage an account probably has in a period, at least one. */
function likelyRows(rates: readonly Rate[]): number {
  const named = namedValues(rates)
  const setsOf = (source: UsageSource) =>
    [...(named.get(source)?.values() ?? [])].reduce((sets, { size }) => sets * (size + 1), 1)
  return sourcesOf(rates).reduce((rows, source) => rows + Math.min(setsOf(source), SETS_LIKELY), 1)
}

const countRows = (usage: SimulatedUsage): number =>
  [...usage.values()].flat().reduce((count, rows) => count + rows.length, 0)

const namedOrBetween = (ids: readonly string[]) =>
  ids.length <= LISTED_MAX ? ids : { first: ids[0] ?? '', last: ids.at(-1) ?? '' }

function cardsOf(
  { baseline, candidate }: RatedWays,
  followed: SimulatedCard | undefined,
): { baseline: SimulatedCard | undefined; candidate: SimulatedCard } {
  if (baseline !== 'followed') return { baseline: baseline === 'nothing' ? undefined : baseline, candidate }
  if (followed === undefined) return { baseline: undefined, candidate }
  const { rateCardId } = candidate.line
  return { baseline: followed, candidate: { ...candidate, line: { ...followed.line, rateCardId } } }
}

/** Reads the accounts' cards and all prices from PostgreSQL, in a fixed number of statements. */
async function readTerms(
  db: PoolClient,
  namespaceId: string,
  { periods, candidate, baseline }: RatedWays,
  accountIds: readonly string[],
): Promise<{ followed: Map<string, SimulatedCard>; prices: Map<string, PriceRecord> }> {
  const at = periods[0]?.startAt ?? 0
  const lines =
    baseline === 'followed'
      ? await contractLineRepository(db).listFollowed(namespaceId, accountIds, at)
      : new Map<string, CardLine>()
  const cardIds = [...new Set([...lines.values()].map(({ rateCardId }) => rateCardId))]
  const rates = await rateCardRepository(db).listRatesOf(namespaceId, cardIds)
  const inForce = new Map([...rates].map(([id, ofCard]) => [id, ratesInForce(ofCard, at)]))
  const followed = new Map(
    [...lines].map(([accountId, line]) => [accountId, { line, rates: inForce.get(line.rateCardId) ?? [] }]),
  )
  const allRates = [
    ...candidate.rates,
    ...(typeof baseline === 'object' ? baseline.rates : []),
    ...[...inForce.values()].flat(),
  ]
  const priceIds = new Set([
    ...allRates.flatMap(pricesOfRate),
    ...[...lines.values()].flatMap(({ priceOverrides }) => priceOverrides.map(({ priceId }) => priceId)),
  ])
  const prices = await priceRepository(db).listByIds(namespaceId, [...priceIds])
  return { followed, prices: new Map(prices.map((price) => [price.id, price])) }
}
