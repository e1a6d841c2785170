import type { FairSemaphore } from '../../batching/fair-semaphore.ts'
import type { UsageWanted } from '../../domain/billing/plan.ts'
import type { UsageRow } from '../../domain/billing/rate-usage.ts'
import { clampRange, type TimeRange } from '../../domain/time-range.ts'
import type { UsageSource } from '../../domain/usage-source.ts'
import { SMALL_STEPS, yielder } from '../../lifecycle/yielder.ts'
import { type ClickHouse, queryRows, streamRows } from '../clickhouse.ts'
import { selectsOf } from '../rollups/cover-query.ts'
import { retryIfStale } from '../rollups/retry-if-stale.ts'
import { type RollupStateReader, rollupStateReader } from '../rollups/rollup-state.ts'
import { coverUsage, NO_ROLLUPS } from '../rollups/usage-cover.ts'
import { type NamedTokens, nameTokens, propertiesOf } from './named-tokens.ts'
import { usageFromRow } from './rated-usage.ts'
import { type AccountSpan, type RatedRow, ratedUsageStatement } from './rated-usage-statement.ts'

/** Selects usage of many accounts, which are all rated in the same way. */
export interface SimulatedUsageWanted {
  accounts: readonly string[] | AccountSpan
  /** In order; each begins where the one before ends. */
  periods: readonly TimeRange[]
  /** The sources that are read. */
  sources: readonly UsageSource[]
  /** By source: the properties and values by which its usage is split. */
  named: UsageWanted['named']
  /** The maximum number of rows. A row is the usage of an account and a source in a period, for one set of values. */
  rowsMax: number
}

/** By account: its usage in each of the periods, in their order. Accounts without usage are absent. */
export type SimulatedUsage = Map<string, UsageRow[][]>

const OF_NAMESPACE = ['namespace_id = {namespaceId:String}']

/**
 * Reads the usage of many accounts of a namespace. First it asks which rollups are valid; then one statement reads all
 * usage. Each event counts once, in its newest version.
 *
 * @param rawReads limits these reads, so that balances need not wait for them
 */
export function simulatedUsageReader(client: ClickHouse, rawReads: FairSemaphore) {
  const states = rollupStateReader(client)
  return {
    /**
     * @param signal ends the wait for a permit
     * @returns undefined when there are more rows than rowsMax
     * @throws DomainError overloaded when the read waited too long for a permit; unprocessable when more values are
     *   named than one query can have
     */
    read: (
      namespaceId: string,
      wanted: SimulatedUsageWanted,
      signal: AbortSignal,
    ): Promise<SimulatedUsage | undefined> =>
      rawReads.run(() => retryIfStale(() => readUsage(client, states, namespaceId, wanted)), {
        tenant: namespaceId,
        signal,
      }),

    /**
     * The first accounts, by id, that have usage in a range.
     *
     * @throws DomainError overloaded, as read does
     */
    listAccounts: (
      namespaceId: string,
      range: TimeRange,
      atMost: number,
      signal: AbortSignal,
    ): Promise<string[]> =>
      rawReads.run(() => retryIfStale(() => listUsers(client, states, namespaceId, range, atMost)), {
        tenant: namespaceId,
        signal,
      }),
  }
}

/** Undefined when there are more rows than rowsMax. */
async function readUsage(
  client: ClickHouse,
  states: RollupStateReader,
  namespaceId: string,
  { accounts, periods, sources, named, rowsMax }: SimulatedUsageWanted,
): Promise<SimulatedUsage | undefined> {
  if (sources.length === 0) return new Map()
  const tokens = nameTokens(named)
  const ranges = periods.map(clampRange)
  const whole = { startAt: ranges[0]?.startAt ?? 0, endAt: ranges.at(-1)?.endAt ?? 0 }
  const isSpan = 'first' in accounts
  const state = (await states.read(namespaceId, whole, isSpan ? undefined : accounts)) ?? NO_ROLLUPS
  const cuts = ranges.flatMap(({ startAt, endAt }) => [startAt, endAt])
  const cutsByAccount = isSpan ? accounts : new Map(accounts.map((id) => [id, cuts]))
  const credit = { currencies: [], before: [] }
  const statement = ratedUsageStatement(
    { namespaceId, cutsByAccount, ranges, sources, credit, named: tokens },
    state,
  )
  if (statement === undefined) return new Map()
  const params = { ...statement.params, limit: rowsMax + 1 }
  const batches = streamRows<RatedRow>(client, `${statement.query} LIMIT {limit:UInt32}`, params)
  return collectUsage(batches, periods, tokens, rowsMax)
}

/** Groups rows by account and period. Undefined when there are more rows than rowsMax. */
async function collectUsage(
  batches: AsyncIterable<readonly RatedRow[]>,
  periods: readonly TimeRange[],
  tokens: NamedTokens,
  rowsMax: number,
): Promise<SimulatedUsage | undefined> {
  const usage: SimulatedUsage = new Map()
  const periodOf = new Map(periods.map((period, index) => [String(clampRange(period).startAt), index]))
  const yielding = yielder(SMALL_STEPS)
  let count = 0
  for await (const rows of batches)
    for (const row of rows) {
      if (++count > rowsMax) return undefined
      let ofAccount = usage.get(row.account_id)
      if (ofAccount === undefined) usage.set(row.account_id, (ofAccount = periods.map(() => [])))
      const ofPeriod = ofAccount[periodOf.get(row.after_cut) ?? NaN]
      if (ofPeriod === undefined) throw new Error(`no period begins at ${row.after_cut}`)
      ofPeriod.push({
        source: row.source,
        properties: propertiesOf(row.source, row.tokens, tokens),
        usage: usageFromRow(row),
      })
      if (yielding.isDue()) await yielding.yieldToOthers()
    }
  return usage
}

/** The first accounts, by id, with usage in a range. */
async function listUsers(
  client: ClickHouse,
  states: RollupStateReader,
  namespaceId: string,
  range: TimeRange,
  atMost: number,
): Promise<string[]> {
  const state = (await states.read(namespaceId, range, undefined)) ?? NO_ROLLUPS
  const columns = {
    fromMonths: 'account_id',
    fromDays: 'account_id',
    fromSlots: 'account_id',
    fromEvents: 'account_id',
  }
  const cover = coverUsage(clampRange(range), state)
  const { selects, params } = selectsOf(
    cover,
    state,
    { ...columns, filters: OF_NAMESPACE },
    { totals: false },
  )
  if (selects.length === 0) return []
  const query = `SELECT DISTINCT account_id FROM (${selects.join('\nUNION ALL\n')}) ORDER BY account_id LIMIT {atMost:UInt32}`
  const rows = await queryRows<{ account_id: string }>(client, query, {
    ...params,
    namespaceId,
    epoch: state.epoch,
    atMost,
  })
  return rows.map((row) => row.account_id)
}
