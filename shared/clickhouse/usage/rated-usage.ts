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

/** The parts of a plan that say which usage it needs. */
export type RatedPlan = Pick<InvoicePlan, 'usage' | 'creditBefore'> & {
  contract: Pick<Contract, 'accountId' | 'currency'>
}

/** Usage in the form of InvoiceReadings. */
export interface RatedUsage {
  /** The usage in the plan's ranges, by the piece's number; a piece without usage is absent. */
  usage: Map<number, UsageRow[]>
  /** All usage in the contract's currency since the beginning, before the plan's `creditBefore`. */
  currencyUsage: Ratio
}

/**
 * Batches the reads of previews that are requested one by one at the same time. A slow preview delays others no longer
 * than slowAfterMs.
 */
const BATCHING: Batching = { atMost: 50, atOnce: 1, slowAfterMs: 100 }

/**
 * The maximum number of seconds at which one statement can split usage: each takes 11 characters of a parameter, and a
 * ClickHouse server accepts 128 KiB.
 */
const CUTS_MAX = 8_000

interface PlanOfNamespace {
  namespaceId: string
  plan: RatedPlan
  /** A number of its own for each read, so that no read gets the answer of another. */
  nth: number
}

/**
 * Reads the usage that invoices are rated by. Each event counts once, in its newest version.
 *
 * First, ClickHouse is asked which rollups are valid. Then one statement reads all usage, however many pieces, rates
 * and values there are. Sources that no rate splits by properties are read through rollups. Other sources are read from
 * the events in the plans' ranges. Invoices of one namespace that are requested at the same time share a statement,
 * because planning a statement takes ClickHouse longer than reading one more account.
 *
 * @param rawReads the semaphore whose permits long reads need; see rawReadSemaphore
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
     * Reads the usage for an invoice.
     *
     * @param plan the plan of an account in the namespace
     * @param signal ends the wait for a permit
     * @throws DomainError overloaded when the read waited too long for a permit; unprocessable when the plan's rates
     *   name too many values
     */
    async read(namespaceId: string, plan: RatedPlan, signal?: AbortSignal): Promise<RatedUsage> {
      const named = nameTokens(plan.usage.named)
      if (named.sources.length === 0) return readShared({ namespaceId, plan, nth: nth++ })
      // Why the permit comes first: the list of valid rollups is soon out of date, and the wait may take long.
      const [read] = await rawReads.run(() => readTogether(namespaceId, [plan], named), {
        tenant: namespaceId,
        signal,
      })
      return read as RatedUsage
    },

    /**
     * Reads the usage for many invoices with one statement, or with several if the parameters of one would be too long.
     *
     * @returns the usage of each plan, in the order of the plans
     */
    async readAll(
      namespaceId: string,
      plans: readonly RatedPlan[],
      signal?: AbortSignal,
    ): Promise<RatedUsage[]> {
      const read: RatedUsage[] = []
      if (plans.length === 0) return read
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

/** Halves the plans until each group fits into the parameters of a statement; a single plan is not divided. */
function halvedWhileTooMany(plans: readonly RatedPlan[]): (readonly RatedPlan[])[] {
  const tokens = countNamed(mergeNamed(plans.map(({ usage }) => usage.named)))
  const cuts = plans.reduce((sum, plan) => sum + cutsOf(plan).length, 0)
  if (plans.length <= 1 || (tokens <= TOKENS_MAX && cuts <= CUTS_MAX)) return [plans]
  const half = Math.ceil(plans.length / 2)
  return [plans.slice(0, half), plans.slice(half)].flatMap(halvedWhileTooMany)
}

/** The usage that plans need. Times are clamped to the times that usage can have. */
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

/** The times, in Unix seconds, at which usage is split. The plan does not distinguish usage between two such times. */
const cutsOf = (plan: RatedPlan): number[] => [
  creditEnd(plan),
  ...plan.usage.ranges.map(clampRange).flatMap(({ startAt, endAt }) => [startAt, endAt]),
]

const creditEnd = ({ creditBefore }: RatedPlan): number =>
  clampRange({ startAt: 0, endAt: creditBefore }).endAt

/** Groups rows by piece. @param rows the rows of the plan's account; rows in no piece and no credit are left out */
export function ratedUsageOf(plan: RatedPlan, rows: readonly RowOfAccount[], named: NamedTokens): RatedUsage {
  // In order of time, so that each range looks only at its own rows: a period by day has hundreds of ranges.
  const cuts = [...groupBy(rows, (row) => Number(row.after_cut))].sort(([a], [b]) => a - b)
  return {
    usage: new Map(
      plan.usage.ranges.flatMap(({ piece, ...range }) => {
        const ofPiece = rowsFrom(cuts, clampRange(range)).filter((row) => isOfPiece(row, range, named))
        return ofPiece.length === 0 ? [] : [[piece, usageRows(ofPiece, plan, named)]]
      }),
    ),
    currencyUsage: sumRatios(rows.filter((row) => isOfCredit(row, plan)).map(({ sum }) => parseRatio(sum))),
  }
}

/** @param cuts rows by the second of their cut, in order */
function rowsFrom(
  cuts: readonly (readonly [second: number, rows: readonly RowOfAccount[]])[],
  { startAt, endAt }: TimeRange,
): RowOfAccount[] {
  let [from, to] = [0, cuts.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((cuts[middle]?.[0] ?? 0) < startAt) from = middle + 1
    else to = middle
  }
  const found: RowOfAccount[] = []
  for (let nth = from; (cuts[nth]?.[0] ?? Infinity) < endAt; nth++) found.push(...(cuts[nth]?.[1] ?? []))
  return found
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

/** Converts the rows of a piece. Rows that differ only in values that this plan does not name are merged. */
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

/** Merges rows of the same source and values. */
export function mergeRows(rows: readonly UsageRow[]): UsageRow[] {
  const merged = new Map<string, UsageRow>()
  for (const { source, properties, usage } of rows) {
    // Rows have their properties in the order of the tokens, so equal properties give equal text.
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
