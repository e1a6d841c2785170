import { amountFromDatabase } from '../../amount/amount.ts'
import { parseRatio, sumRatios, type Ratio } from '../../amount/ratio.ts'
import { groupBy } from '../../collections/group-by.ts'
import type { WorkQueue } from '../../batching/work-queue.ts'
import { mergeUsage, type MeasuredUsage } from '../../domain/billing/aggregate.ts'
import type { Contract } from '../../domain/billing/contract.ts'
import type { InvoicePlan } from '../../domain/billing/plan.ts'
import type { UsageRow } from '../../domain/billing/rate-usage.ts'
import { clampRange } from '../../domain/time-range.ts'
import { dayOf, NO_ROLLUPS } from '../../domain/usage-cover.ts'
import { occurredAtOfEventId } from '../../domain/usage-event.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'
import { retryIfStale } from '../rollups/retry-if-stale.ts'
import { rollupStateReader } from '../rollups/rollup-state.ts'
import { countNamed, mergeNamed, nameTokens, TOKENS_MAX, type NamedTokens } from './named-tokens.ts'
import { ratedUsageStatement, type RatedRow, type RatedWanted } from './rated-usage-statement.ts'

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
 * Reads what invoices are rated by. Each event counts once, as it counts now.
 *
 * However many pieces, rates and values there are, ClickHouse is asked which rollups hold and then once for everything. Sources that
 * no rate tells apart by properties come through rollups; the others from the events of these ranges.
 *
 * @param rawReads the places that reads wait for which take long; see rawReadPlaces
 */
export function ratedUsageReader(client: ClickHouse, rawReads: WorkQueue) {
  const states = rollupStateReader(client)

  const readTogether = (namespaceId: string, plans: readonly RatedPlan[], named: NamedTokens) =>
    retryIfStale(async (): Promise<RatedUsage[]> => {
      const wanted = wantedOf(namespaceId, plans, named)
      const upTo = Math.max(0, ...wanted.credit.before, ...wanted.ranges.map(({ endAt }) => endAt))
      const state = await states.read(namespaceId, { startAt: 0, endAt: upTo }, wanted.accountIds)
      const statement = ratedUsageStatement(wanted, state ?? NO_ROLLUPS)
      const rows =
        statement === undefined ? [] : await queryRows<RatedRow>(client, statement.query, statement.params)
      const byAccount = groupBy(rows, (row) => row.account_id)
      return plans.map((plan) => ratedUsageOf(plan, byAccount.get(plan.contract.accountId) ?? [], named))
    })

  const readAll = async (
    namespaceId: string,
    plans: readonly RatedPlan[],
    signal?: AbortSignal,
  ): Promise<RatedUsage[]> => {
    const found = new Map<RatedPlan, RatedUsage>()
    for (const together of inOneStatement(plans)) {
      const named = nameTokens(mergeNamed(together.map(({ usage }) => usage.named)))
      // Why the place comes first: what rollups hold is known for a moment only.
      const work = () => readTogether(namespaceId, together, named)
      const isShort = named.sources.length === 0 && together.length === 1
      const read = await (isShort ? work() : rawReads.run(work, signal))
      for (const [index, plan] of together.entries()) found.set(plan, read[index] as RatedUsage)
    }
    return plans.map((plan) => found.get(plan) as RatedUsage)
  }

  return {
    /**
     * Usage for several invoices, in their order. Those whose ranges cut the same days in two are read in one statement: of periods
     * that begin and end at midnight, all are.
     *
     * @param plans their accounts are of the namespace
     * @param signal gives up waiting for a place
     * @throws DomainError overloaded when there was no place in time; unprocessable when the rates of a plan name too many values
     */
    readAll,

    /** The same for one invoice. */
    async read(namespaceId: string, plan: RatedPlan, signal?: AbortSignal): Promise<RatedUsage> {
      const [read] = await readAll(namespaceId, [plan], signal)
      return read as RatedUsage
    },
  }
}

/** Sets of plans that are read together. */
function inOneStatement(plans: readonly RatedPlan[]): RatedPlan[][] {
  const byCuts = groupBy(plans, ({ usage, creditBefore }) => {
    const cuts = [creditBefore, ...usage.ranges.flatMap(({ startAt, endAt }) => [startAt, endAt])]
    return [...new Set(cuts.filter((cut) => dayOf(cut) !== cut))].sort((a, b) => a - b).join()
  })
  return [...byCuts.values()].flatMap(halvedWhileTooMany)
}

/** Names as many values a statement as one takes; of a single plan they are what they are. */
function halvedWhileTooMany(plans: readonly RatedPlan[]): RatedPlan[][] {
  const count = countNamed(mergeNamed(plans.map(({ usage }) => usage.named)))
  if (plans.length <= 1 || count <= TOKENS_MAX) return [[...plans]]
  const half = Math.ceil(plans.length / 2)
  return [plans.slice(0, half), plans.slice(half)].flatMap(halvedWhileTooMany)
}

const wantedOf = (
  namespaceId: string,
  plans: readonly RatedPlan[],
  named: NamedTokens,
): RatedWanted & {
  accountIds: readonly string[]
} => ({
  namespaceId,
  accountIds: [...new Set(plans.map(({ contract }) => contract.accountId))],
  ranges: plans.flatMap(({ usage }) => usage.ranges.map(clampRange)),
  credit: {
    currencies: [...new Set(plans.map(({ contract }) => contract.currency))],
    before: plans.map(creditEnd),
  },
  named,
})

const creditEnd = ({ creditBefore }: RatedPlan): number =>
  clampRange({ startAt: 0, endAt: creditBefore }).endAt

/** @param rows of its account */
function ratedUsageOf(plan: RatedPlan, rows: readonly RatedRow[], named: NamedTokens): RatedUsage {
  const toldApart = new Set(named.sources)
  const ofPieces = rows.filter(({ source, is_named: isNamed }) => toldApart.has(source) === (isNamed === 1))
  const creditBefore = creditEnd(plan)
  const { currency } = plan.contract
  return {
    usage: new Map(
      plan.usage.ranges.flatMap(({ piece, ...range }) => {
        const { startAt, endAt } = clampRange(range)
        const ofPiece = ofPieces.filter(
          ({ segment }) => Number(segment) >= startAt && Number(segment) < endAt,
        )
        return ofPiece.length === 0 ? [] : [[piece, usageRows(ofPiece, plan, named)]]
      }),
    ),
    currencyUsage: sumRatios(
      rows
        .filter((row) => row.source === currency && row.is_named === 0 && Number(row.segment) < creditBefore)
        .map(({ sum }) => parseRatio(sum)),
    ),
  }
}

/** Rows of the segments of a piece; those that the plan itself does not tell apart are put together. */
function usageRows(rows: readonly RatedRow[], plan: RatedPlan, named: NamedTokens): UsageRow[] {
  const found = new Map<string, UsageRow>()
  for (const row of rows) {
    const ofSource = plan.usage.named.get(row.source)
    const pairs = row.tokens
      .map((token) => named.pairOf(row.source, token))
      .filter((pair) => pair !== undefined)
      .filter(([property, value]) => ofSource?.get(property)?.has(value))
    const key = JSON.stringify([row.source, ...pairs])
    const before = found.get(key)
    const usage = usageFromRow(row)
    found.set(key, {
      source: row.source,
      properties: Object.fromEntries(pairs),
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
