import { formatRatio, isZeroRatio, type Ratio, RATIO_ZERO, roundHalfUp } from '../amount/ratio.ts'
import type { DailyLine } from '../domain/billing/daily-lines.ts'
import type { RatedPeriod } from '../domain/billing/rated-period.ts'
import { DAY_S } from '../domain/time-range.ts'
import { isMetric } from '../domain/usage-source.ts'
import { type Micros, MICROS_PER_MS } from '../time/microsecond-clock.ts'
import { type ClickHouse, queryRows } from './clickhouse.ts'
import { isoDay } from './rollups/time-params.ts'

/** What is known about a period that was rated. Times are Unix seconds. */
export interface RatedState {
  contractId: string
  startsAt: number
  version: Micros
  ratedAt: Micros
  /** All usage that was accepted or corrected before this second is counted. */
  usageAsOf: number
  isFinal: boolean
  /** See basisOf. */
  basis: string
}

/** An account, and the UTC days (since 1970) on which events of it occurred. */
export interface ChangedDays {
  accountId: string
  days: number[]
}

const STATES = `
  SELECT contract_id, starts_at, toString(version) AS version, rated_at, usage_as_of, is_final, basis
  FROM rated_periods FINAL
  WHERE namespace_id = {namespaceId:String}`
const OF_CONTRACTS = 'AND contract_id IN {contractIds:Array(String)}'
const CONTRACTS = `
  SELECT DISTINCT contract_id FROM rated_periods FINAL WHERE namespace_id = {namespaceId:String}`
const COUNTED = `
  SELECT toString(min(usage_as_of)) AS up_to, toString(count()) AS periods FROM rated_periods FINAL
  WHERE namespace_id = {namespaceId:String} AND is_final = 1`
const RUNS = `
  SELECT namespace_id, toString(maxIf(due_at, due_at <= {dueAt:Int64})) AS due, toString(max(complete_up_to)) AS up_to
  FROM rating_runs GROUP BY namespace_id`
// The first four bytes of an id are the second in which the event occurred.
const ACCEPTED_DAYS = `
  SELECT account_id, groupUniqArray(intDiv(reinterpretAsUInt32(reverse(substring(id, 1, 4))), 86400)) AS days
  FROM usage_events_by_acceptance
  WHERE namespace_id = {namespaceId:String} AND accepted_second >= toDateTime({since:UInt32}, 'UTC')
    AND account_id IN {accountIds:Array(String)}
  GROUP BY account_id`

interface StateRow {
  contract_id: string
  starts_at: string
  version: string
  rated_at: string
  usage_as_of: string
  is_final: number
  basis: string
}

const stateOf = (row: StateRow): RatedState => ({
  contractId: row.contract_id,
  startsAt: Number(row.starts_at),
  version: Number(row.version),
  ratedAt: Number(row.rated_at),
  usageAsOf: Number(row.usage_as_of),
  isFinal: row.is_final === 1,
  basis: row.basis,
})

/**
 * The contract that a rating is of, as text: another text means that the contract was changed.
 *
 * @param fill of the copies of PostgreSQL's rows. It is another one when PostgreSQL went back to an earlier state, in
 *   which contracts, rates or corrections may be missing
 */
export const basisOf = ({ updatedAt }: { updatedAt: Date }, fill: number): string =>
  `${updatedAt.toISOString()} ${fill}`

/** Rated periods of contracts, which analysts read as rated_usage. */
export const ratedPeriodRepository = (client: ClickHouse) => ({
  /** Lists the periods of these contracts. */
  async list(namespaceId: string, contractIds: readonly string[]): Promise<RatedState[]> {
    if (contractIds.length === 0) return []
    const query = `${STATES} ${OF_CONTRACTS}`
    const rows = await queryRows<StateRow>(client, query, { namespaceId, contractIds })
    return rows.map(stateOf)
  },

  /** Lists the ids of all contracts that have rated periods. */
  async listContracts(namespaceId: string): Promise<string[]> {
    const rows = await queryRows<{ contract_id: string }>(client, CONTRACTS, { namespaceId })
    return rows.map(({ contract_id: id }) => id)
  },

  /** The time up to which the usage of every final period is counted, in Unix seconds; undefined if there is none. */
  async countedUpTo(namespaceId: string): Promise<number | undefined> {
    const [row] = await queryRows<{ up_to: string; periods: string }>(client, COUNTED, { namespaceId })
    return row === undefined || row.periods === '0' ? undefined : Number(row.up_to)
  },

  /** Stores a period instead of its rating before. When it resolves, the period is on disk. */
  async store(
    namespaceId: string,
    rated: RatedPeriod,
    { version, ratedAt, isFinal, basis }: Pick<RatedState, 'version' | 'ratedAt' | 'isFinal' | 'basis'>,
  ): Promise<void> {
    const { period, lines } = rated
    const row = {
      namespace_id: namespaceId,
      contract_id: rated.contractId,
      starts_at: period.startAt,
      ends_at: period.endAt,
      account_id: rated.accountId,
      customer_id: rated.customerId,
      currency: rated.currency,
      as_of: rated.asOf,
      usage_as_of: rated.usageAsOf,
      rated_at: ratedAt,
      is_final: isFinal ? 1 : 0,
      basis,
      ...columnsOf(lines),
      version: String(version),
      is_deleted: 0,
    }
    await client.insert({
      table: 'rated_periods',
      values: [row],
      columns: columnsIn(row),
      format: 'JSONEachRow',
    })
  },

  /** Removes periods that their contract does not have any more. */
  async remove(namespaceId: string, states: readonly RatedState[]): Promise<void> {
    const rows = states.map(({ contractId, startsAt, version }) => ({
      namespace_id: namespaceId,
      contract_id: contractId,
      starts_at: startsAt,
      version: String(Math.max(version + 1, Date.now() * MICROS_PER_MS)),
      is_deleted: 1,
    }))
    const [first] = rows
    if (first === undefined) return
    await client.insert({
      table: 'rated_periods',
      values: rows,
      columns: columnsIn(first),
      format: 'JSONEachRow',
    })
  },
})

/** Up to when usage is rated, and what came since. */
export const ratingRunRepository = (client: ClickHouse) => ({
  /**
   * The last run of each namespace that had one. Times are Unix seconds.
   *
   * @param dueAt runs that were due later are of a clock that was ahead. What they have counted is counted for good
   */
  async list(dueAt: number): Promise<Map<string, { dueAt: number; completeUpTo: number }>> {
    const rows = await queryRows<{ namespace_id: string; due: string; up_to: string }>(client, RUNS, {
      dueAt,
    })
    return new Map(
      rows.map((row) => [row.namespace_id, { dueAt: Number(row.due), completeUpTo: Number(row.up_to) }]),
    )
  },

  /** Notes that all usage of a namespace that was accepted or corrected before `completeUpTo` is rated. */
  async note(namespaceId: string, dueAt: number, completeUpTo: number): Promise<void> {
    await client.insert({
      table: 'rating_runs',
      values: [{ namespace_id: namespaceId, due_at: dueAt, complete_up_to: completeUpTo }],
      columns: ['namespace_id', 'due_at', 'complete_up_to'],
      format: 'JSONEachRow',
    })
  },

  /** On which days events of these accounts occurred that were accepted at or after a second and are stored by now. */
  async listAcceptedDays(
    namespaceId: string,
    accountIds: readonly string[],
    since: number,
  ): Promise<ChangedDays[]> {
    const rows = await queryRows<{ account_id: string; days: number[] }>(client, ACCEPTED_DAYS, {
      namespaceId,
      accountIds,
      since: Math.max(since, 0),
    })
    return rows.map(({ account_id: accountId, days }) => ({ accountId, days }))
  },
})

const columnsIn = (row: object) => Object.keys(row) as [string, ...string[]]

/** The nested columns: a list of each. */
function columnsOf(lines: readonly DailyLine[]): Record<string, unknown[]> {
  const rows = lines.map(columnsOfLine)
  const names = Object.keys(columnsOfLine(EMPTY)) as (keyof ReturnType<typeof columnsOfLine>)[]
  return Object.fromEntries(names.map((name) => [`line_${name}`, rows.map((row) => row[name])]))
}

function columnsOfLine({ day, kind, line, source, startAt, added, toDate }: DailyLine) {
  const terms = line?.price.terms
  const unit = terms?.model === 'per_unit' ? terms : undefined
  return {
    day: isoDay(day * DAY_S),
    kind,
    contract_line_id: line?.lineId ?? null,
    starts_at: startAt,
    rate_id: line?.rate?.id ?? null,
    product_id: line?.price.productId ?? null,
    price_id: line?.price.id ?? null,
    metric_id: source !== null && isMetric(source) ? source : null,
    usage_currency: source !== null && !isMetric(source) ? source : null,
    aggregation: kind === 'usage' ? (line?.rate?.aggregation ?? null) : null,
    group_by: line?.rate?.groupBy ?? null,
    value: line?.value ?? null,
    quantity: decimal(added.quantity),
    events: String(added.events),
    unit_amount: unit?.unitAmount ?? null,
    per: unit?.per ?? null,
    exact_amount: decimal(added.exactAmount),
    amount: decimal(added.amount),
    quantity_to_date: decimal(toDate.quantity),
    exact_amount_to_date: formatRatio(toDate.exactAmount),
    amount_to_date: decimal(toDate.amount),
  }
}

const decimal = (ratio: Ratio): string => (isZeroRatio(ratio) ? '0' : formatRatio(roundHalfUp(ratio, 18)))

const NOTHING = { quantity: RATIO_ZERO, events: 0n, exactAmount: RATIO_ZERO, amount: RATIO_ZERO }
const EMPTY: DailyLine = {
  day: 0,
  kind: 'unrated',
  line: undefined,
  source: null,
  startAt: 0,
  added: NOTHING,
  toDate: NOTHING,
}
