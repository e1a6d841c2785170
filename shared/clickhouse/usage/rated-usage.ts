import { amountFromDatabase } from '../../amount/amount.ts'
import { parseRatio, sumRatios, type Ratio } from '../../amount/ratio.ts'
import type { WorkQueue } from '../../batching/work-queue.ts'
import { mergeUsage, type MeasuredUsage } from '../../domain/billing/aggregate.ts'
import type { Contract } from '../../domain/billing/contract.ts'
import type { InvoicePlan } from '../../domain/billing/plan.ts'
import type { UsageRow } from '../../domain/billing/rate-usage.ts'
import { clampRange, type TimeRange } from '../../domain/time-range.ts'
import { NO_ROLLUPS } from '../../domain/usage-cover.ts'
import { occurredAtOfEventId } from '../../domain/usage-event.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'
import { retryIfStale } from '../rollups/retry-if-stale.ts'
import { rollupStateReader } from '../rollups/rollup-state.ts'
import { nameTokens, type NamedTokens } from './named-tokens.ts'
import { CREDIT, ratedUsageStatement, type RatedRow } from './rated-usage-statement.ts'

/** What of a plan says which usage it needs. */
export type RatedPlan = Pick<InvoicePlan, 'usage' | 'creditBefore'> & {
  contract: Pick<Contract, 'accountId' | 'currency'>
}

/** As InvoiceReadings has them. */
export interface RatedUsage {
  /** Of the plan's ranges, by the piece's number; of a piece without usage there is none. */
  usage: Map<number, UsageRow[]>
  /** All usage in the contract's currency, ever, before the plan's `creditBefore`. */
  currencyUsage: Ratio
}

/**
 * Reads what an invoice is rated by. Each event counts once, as it counts now.
 *
 * However many pieces, rates and values there are, ClickHouse is asked which rollups hold and then once for everything. Sources that
 * no rate tells apart by properties come through rollups; the others from the account's events of these ranges.
 *
 * @param rawReads the places that the latter wait for; see rawReadPlaces
 */
export function ratedUsageReader(client: ClickHouse, rawReads: WorkQueue) {
  const states = rollupStateReader(client)

  const read = (namespaceId: string, plan: RatedPlan, named: NamedTokens): Promise<RatedUsage> =>
    retryIfStale(async () => {
      const wanted = wantedOf(namespaceId, plan, named)
      const { accountId, ranges, creditBefore } = wanted
      const everything = { startAt: 0, endAt: Math.max(creditBefore, ...ranges.map(({ endAt }) => endAt)) }
      const state = (await states.read(namespaceId, everything, [accountId])) ?? NO_ROLLUPS
      const statement = ratedUsageStatement(wanted, state)
      const rows =
        statement === undefined ? [] : await queryRows<RatedRow>(client, statement.query, statement.params)
      return ratedUsageOf(rows, wanted)
    })

  return {
    /**
     * @param plan its account is of the namespace
     * @param signal gives up waiting for a place
     * @throws DomainError overloaded when there was no place in time; unprocessable when its rates name too many values
     */
    async read(namespaceId: string, plan: RatedPlan, signal?: AbortSignal): Promise<RatedUsage> {
      const named = nameTokens(plan.usage.named)
      // Why the place comes first: what rollups hold is known for a moment only.
      const work = () => read(namespaceId, plan, named)
      return named.sources.length === 0 ? work() : rawReads.run(work, signal)
    },
  }
}

/** What a plan wants, in seconds as usage can have them. */
export function wantedOf(
  namespaceId: string,
  { contract, usage, creditBefore }: RatedPlan,
  named: NamedTokens,
) {
  return {
    namespaceId,
    accountId: contract.accountId,
    currency: contract.currency,
    ranges: usage.ranges.map(({ piece, ...range }) => ({ piece, ...clampRange(range) })),
    creditBefore: clampRange({ startAt: 0, endAt: creditBefore }).endAt,
    named,
  }
}

/** Puts rows together, piece by piece; those of no piece are left out. */
export function ratedUsageOf(
  rows: readonly RatedRow[],
  { ranges, named }: Pick<ReturnType<typeof wantedOf>, 'ranges' | 'named'>,
): RatedUsage {
  return {
    usage: new Map(
      ranges.flatMap(({ piece, ...range }) => {
        const ofPiece = rows.filter((row) => isWithin(row, range))
        return ofPiece.length === 0 ? [] : [[piece, usageRows(ofPiece, named)]]
      }),
    ),
    currencyUsage: sumRatios(rows.filter(isOfCredit).map(({ sum }) => parseRatio(sum))),
  }
}

export const isOfCredit = ({ segment }: Pick<RatedRow, 'segment'>): boolean => segment === CREDIT

/** Whether a row's segment lies in a range. */
export function isWithin({ segment }: Pick<RatedRow, 'segment'>, { startAt, endAt }: TimeRange): boolean {
  const second = Number(segment)
  return second >= startAt && second < endAt
}

/** Rows of the segments of a piece, those of the same source and values put together. */
function usageRows(rows: readonly RatedRow[], named: NamedTokens): UsageRow[] {
  const found = new Map<string, UsageRow>()
  for (const row of rows) {
    const key = `${row.source} ${row.tokens.join(' ')}`
    const before = found.get(key)
    const usage = usageFromRow(row)
    found.set(key, {
      source: row.source,
      properties: named.propertiesOf(row.source, row.tokens),
      usage: before === undefined ? usage : mergeUsage(before.usage, usage),
    })
  }
  return [...found.values()]
}

function usageFromRow(row: RatedRow): MeasuredUsage {
  const id = `event_${row.latest_id}`
  return {
    count: BigInt(row.count),
    sum: amountFromDatabase(row.sum),
    min: amountFromDatabase(row.min),
    max: amountFromDatabase(row.max),
    latest: {
      quantity: amountFromDatabase(row.latest),
      occurredAt: occurredAtOfEventId(id),
      acceptedAt: Number(row.latest_accepted_at),
      id,
    },
  }
}
