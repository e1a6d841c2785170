import { amountFromDatabase } from '../../amount/amount.ts'
import { parseRatio, type Ratio, sumRatios } from '../../amount/ratio.ts'
import { type Batching, batchReadsByGroup } from '../../batching/batch-reads.ts'
import type { FairSemaphore } from '../../batching/fair-semaphore.ts'
import { groupBy } from '../../collections/group-by.ts'
import { type MeasuredUsage, mergeUsage } from '../../domain/billing/aggregate.ts'
import type { Contract } from '../../domain/billing/contract.ts'
import { countNamed, mergeNamed } from '../../domain/billing/named-values.ts'
import type { InvoicePlan } from '../../domain/billing/plan.ts'
import type { UsageRow } from '../../domain/billing/rate-usage.ts'
import { clampRange, type TimeRange } from '../../domain/time-range.ts'
import { occurredAtOfEventId } from '../../domain/usage-event.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'
import { retryIfStale } from '../rollups/retry-if-stale.ts'
import { rollupStateReader } from '../rollups/rollup-state.ts'
import { NO_ROLLUPS } from '../rollups/usage-cover.ts'
import { type NamedTokens, nameTokens, NOTHING_NAMED, TOKENS_MAX } from './named-tokens.ts'
import { type RatedRow, ratedUsageStatement, type RatedWanted } from './rated-usage-statement.ts'

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
 * Previews asked for one by one, at the same time. One of them that takes long holds up others no longer than
 * slowAfterMs.
 */
const BATCHING: Batching = { atMost: 50, atOnce: 1, slowAfterMs: 100 }

/**
 * Seconds that usage is told apart at, in one statement: each takes 11 characters of a parameter, of which a ClickHouse
 * server takes 128 KiB.
 */
const CUTS_MAX = 8_000

interface PlanOfNamespace {
  namespaceId: string
  plan: RatedPlan
  /** Each is a read of its own. */
  nth: number
}

/**
 * Reads what invoices are rated by. Each event counts once, as it counts now.
 *
 * However many pieces, rates and values there are, ClickHouse is asked which rollups hold and then once for everything.
 * Sources that no rate tells apart by properties come through rollups; the others from the events of these ranges. Of a
 * namespace, invoices that are asked for at the same time share a statement: planning it takes ClickHouse longer than
 * reading what one more account has.
 *
 * @param rawReads what reads wait for that take long; see rawReadSemaphore
 */
export function ratedUsageReader(client: ClickHouse, rawReads: FairSemaphore) {
  const states = rollupStateReader(client)

  const readTogether = (namespaceId: string, plans: readonly RatedPlan[], named: NamedTokens) =>
    retryIfStale(async (): Promise<RatedUsage[]> => {
      const wanted = wantedOf(namespaceId, plans, named)
      const upTo = Math.max(0, ...wanted.credit.before, ...wanted.ranges.map(({ endAt }) => endAt))
      const accountIds = [...wanted.cutsByAccount.keys()]
      const state = await states.read(namespaceId, { startAt: 0, endAt: upTo }, accountIds)
      const statement = ratedUsageStatement(wanted, state ?? NO_ROLLUPS)
      const rows =
        statement === undefined ? [] : await queryRows<RatedRow>(client, statement.query, statement.params)
      const byAccount = groupBy(rows, (row) => row.account_id)
      return plans.map((plan) => ratedUsageOf(plan, byAccount.get(plan.contract.accountId) ?? [], named))
    })

  const readShared = batchReadsByGroup<PlanOfNamespace, RatedUsage>(
    ({ namespaceId }) => namespaceId,
    ({ nth }) => String(nth),
    async (keys) => {
      const read: RatedUsage[] = []
      const plans = keys.map(({ plan }) => plan)
      for (const some of halvedWhileTooMany(plans))
        read.push(...(await readTogether(keys[0]?.namespaceId ?? '', some, NOTHING_NAMED)))
      return read
    },
    BATCHING,
  )
  let nth = 0

  return {
    /**
     * Usage for an invoice.
     *
     * @param plan its account is of the namespace
     * @param signal gives up waiting
     * @throws DomainError overloaded when its turn did not come in time; unprocessable when its rates name too many
     *   values
     */
    async read(namespaceId: string, plan: RatedPlan, signal?: AbortSignal): Promise<RatedUsage> {
      const named = nameTokens(plan.usage.named)
      if (named.sources.length === 0) return readShared({ namespaceId, plan, nth: nth++ })
      // Why the permit comes first: what rollups hold is known for a moment only.
      const [read] = await rawReads.run(() => readTogether(namespaceId, [plan], named), {
        tenant: namespaceId,
        signal,
      })
      return read as RatedUsage
    },

    /** The same for many invoices, in their order: in one statement, or several where they name very many values. */
    async readAll(
      namespaceId: string,
      plans: readonly RatedPlan[],
      signal?: AbortSignal,
    ): Promise<RatedUsage[]> {
      const read: RatedUsage[] = []
      for (const some of halvedWhileTooMany(plans)) {
        const named = nameTokens(mergeNamed(some.map(({ usage }) => usage.named)))
        read.push(
          ...(await rawReads.run(() => readTogether(namespaceId, some, named), {
            tenant: namespaceId,
            signal,
          })),
        )
      }
      return read
    },
  }
}

/** As many plans a statement as its parameters take; a single one is what it is. */
function halvedWhileTooMany(plans: readonly RatedPlan[]): (readonly RatedPlan[])[] {
  const tokens = countNamed(mergeNamed(plans.map(({ usage }) => usage.named)))
  const cuts = plans.reduce((sum, plan) => sum + cutsOf(plan).length, 0)
  if (plans.length <= 1 || (tokens <= TOKENS_MAX && cuts <= CUTS_MAX)) return [plans]
  const half = Math.ceil(plans.length / 2)
  return [plans.slice(0, half), plans.slice(half)].flatMap(halvedWhileTooMany)
}

/** What plans want, in seconds as usage can have them. */
export function wantedOf(namespaceId: string, plans: readonly RatedPlan[], named: NamedTokens) {
  const byAccount = groupBy(plans, ({ contract }) => contract.accountId)
  return {
    namespaceId,
    cutsByAccount: new Map(
      [...byAccount].map(([accountId, ofAccount]) => [accountId, ofAccount.flatMap(cutsOf)]),
    ),
    ranges: plans.flatMap(({ usage }) => usage.ranges.map(clampRange)),
    credit: {
      currencies: [...new Set(plans.map(({ contract }) => contract.currency))],
      before: plans.map(creditEnd),
    },
    named,
  } satisfies RatedWanted
}

/** Where usage is told apart: what lies between two of them that follow each other counts alike. */
const cutsOf = (plan: RatedPlan): number[] => [
  creditEnd(plan),
  ...plan.usage.ranges.map(clampRange).flatMap(({ startAt, endAt }) => [startAt, endAt]),
]

const creditEnd = ({ creditBefore }: RatedPlan): number =>
  clampRange({ startAt: 0, endAt: creditBefore }).endAt

/** Puts rows together, piece by piece. @param rows of its account; what is in no piece and no credit is left out */
export function ratedUsageOf(plan: RatedPlan, rows: readonly RowOfAccount[], named: NamedTokens): RatedUsage {
  return {
    usage: new Map(
      plan.usage.ranges.flatMap(({ piece, ...range }) => {
        const ofPiece = rows.filter((row) => isOfPiece(row, range, named))
        return ofPiece.length === 0 ? [] : [[piece, usageRows(ofPiece, plan, named)]]
      }),
    ),
    currencyUsage: sumRatios(rows.filter((row) => isOfCredit(row, plan)).map(({ sum }) => parseRatio(sum))),
  }
}

type RowOfAccount = Omit<RatedRow, 'account_id'>
type RatedRowKey = Pick<RatedRow, 'source' | 'after_cut' | 'is_named'>

/** Whether a row is usage of a range. */
export function isOfPiece(
  { source, after_cut, is_named }: RatedRowKey,
  range: TimeRange,
  named: NamedTokens,
): boolean {
  const { startAt, endAt } = clampRange(range)
  const second = Number(after_cut)
  return second >= startAt && second < endAt && named.sources.includes(source) === (is_named === 1)
}

/** Whether a row is usage that credit of a plan pays for. */
export const isOfCredit = ({ source, after_cut, is_named }: RatedRowKey, plan: RatedPlan): boolean =>
  source === plan.contract.currency && is_named === 0 && Number(after_cut) < creditEnd(plan)

/** Rows between the cuts of a piece; those that the plan itself does not tell apart are put together. */
const usageRows = (rows: readonly RowOfAccount[], plan: RatedPlan, named: NamedTokens): UsageRow[] =>
  mergeRows(
    rows.map((row) => {
      const ofSource = plan.usage.named.get(row.source)
      const pairs = row.tokens
        .map((token) => named.pairOf(row.source, token))
        .filter((pair) => pair !== undefined)
        .filter(([property, value]) => ofSource?.get(property)?.has(value))
      return { source: row.source, properties: Object.fromEntries(pairs), usage: usageFromRow(row) }
    }),
  )

/** Those of the same source and values put together. */
export function mergeRows(rows: readonly UsageRow[]): UsageRow[] {
  const merged = new Map<string, UsageRow>()
  for (const { source, properties, usage } of rows) {
    // The values are in the order of their tokens, wherever they were read.
    const key = `${source} ${JSON.stringify(properties)}`
    const before = merged.get(key)
    merged.set(key, { source, properties, usage: before ? mergeUsage(before.usage, usage) : usage })
  }
  return [...merged.values()]
}

export function usageFromRow(row: RowOfAccount): MeasuredUsage {
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
