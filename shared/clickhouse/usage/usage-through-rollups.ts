import type { Period } from '../../domain/period.ts'
import { clampRange } from '../../domain/time-range.ts'
import { type ClickHouse, forLongReads, queryRows } from '../clickhouse.ts'
import { type CoverRead, selectsOf } from '../rollups/cover-query.ts'
import { retryIfStale } from '../rollups/retry-if-stale.ts'
import { type RollupStateReader, rollupStateReader } from '../rollups/rollup-state.ts'
import { coverUsage } from '../rollups/usage-cover.ts'
import { accountSums, type AccountSumsReader } from './account-sums.ts'
import type { LatestSums } from './latest-sums.ts'
import { PERIOD_START, rollupColumnsOf } from './rollup-columns.ts'
import {
  aggregateFromRow,
  type AggregateRow,
  groupRows,
  usageAggregateRepository,
  type UsageReader,
  type UsageSelection,
} from './usage-aggregates.ts'

/** A query over all tables that a range is read from. */
interface Query {
  select: string
  groupBy: string
  /** The columns that are read from each table. */
  from: Omit<CoverRead, 'filters'>
  /** The period to group by; undefined: no grouping by period. */
  period?: Period
}

/**
 * Reads usage through rollups wherever rollups are complete. The answers equal those of usageAggregateRepository. Sums
 * of accounts are short reads; all other reads may take long.
 *
 * @param latestSums caches sums of accounts; undefined where other processes may write usage
 */
export function usageThroughRollups(
  client: ClickHouse,
  latestSums?: LatestSums,
): UsageReader & AccountSumsReader {
  const patient = forLongReads(client)
  const events = usageAggregateRepository(patient)
  const states = rollupStateReader(client)
  const read = <Row>(namespaceId: string, selection: UsageSelection, query: Query) =>
    readThroughRollups<Row>({ patient, states }, namespaceId, selection, query)

  return {
    async aggregate(namespaceId, selection) {
      const range = clampRange(selection.range)
      if (range.startAt >= range.endAt) return new Map()
      if (selection.property !== undefined) return events.aggregate(namespaceId, selection)
      const { rolled, ofEvent, merged } = rollupColumnsOf(selection)
      const rows = await read<AggregateRow>(
        namespaceId,
        { ...selection, range },
        {
          select: merged,
          groupBy: 'source',
          from: { fromMonths: rolled, fromDays: rolled, fromSlots: rolled, fromEvents: ofEvent },
        },
      )
      if (rows === undefined) return events.aggregate(namespaceId, selection)
      return new Map(rows.map((row) => [row.source, aggregateFromRow(row)]))
    },

    async aggregateByPeriod(namespaceId, period, selection) {
      const range = clampRange(selection.range)
      if (range.startAt >= range.endAt) return new Map()
      const fromEvents = () => events.aggregateByPeriod(namespaceId, period, selection)
      if (selection.property !== undefined) return fromEvents()
      const startOf = PERIOD_START[period]
      const { rolled, ofEvent, merged } = rollupColumnsOf(selection)
      const rows = await read<AggregateRow & { period_start: number }>(
        namespaceId,
        { ...selection, range },
        {
          select: `period_start, ${merged}`,
          groupBy: 'period_start, source',
          from: {
            fromMonths: `${startOf('month')}, ${rolled}`,
            fromDays: `${startOf('day')}, ${rolled}`,
            fromSlots: `${startOf('slot')}, ${rolled}`,
            fromEvents: `${startOf('occurred_at')}, ${ofEvent}`,
          },
          period,
        },
      )
      if (rows === undefined) return fromEvents()
      return groupRows(rows, (row) => row.period_start, aggregateFromRow)
    },

    ...accountSums(client, states, events, latestSums),
  }
}

/** The rows of a query for a selection whose range is clamped; undefined while there are no rollups. */
function readThroughRollups<Row>(
  { patient, states }: { patient: ClickHouse; states: RollupStateReader },
  namespaceId: string,
  selection: UsageSelection,
  { select, groupBy, from, period }: Query,
): Promise<Row[] | undefined> {
  return retryIfStale(async () => {
    const { accountId, range } = selection
    const state = await states.read(namespaceId, range, accountId === undefined ? undefined : [accountId])
    if (state === undefined) return undefined
    const totals = accountId === undefined
    const cover = coverUsage(range, state, { hasMonths: !totals && period !== 'day' })
    const columns = { ...from, filters: filtersOf(selection) }
    const { selects, params } = selectsOf(cover, state, columns, { totals })
    if (selects.length === 0) return []
    const query = `SELECT ${select} FROM (${selects.join('\nUNION ALL\n')}) GROUP BY ${groupBy}`
    return queryRows<Row>(patient, query, {
      ...params,
      ...paramsOf(selection),
      namespaceId,
      epoch: state.epoch,
    })
  })
}

const OF_NAMESPACE = 'namespace_id = {namespaceId:String}'
const OF_ACCOUNT = 'account_id = {accountId:String}'
const OF_SOURCE = 'source = {source:String}'

const filtersOf = ({ accountId, source }: UsageSelection): string[] => [
  OF_NAMESPACE,
  ...(accountId === undefined ? [] : [OF_ACCOUNT]),
  ...(source === undefined ? [] : [OF_SOURCE]),
]

const paramsOf = ({ accountId, source }: UsageSelection): Record<string, unknown> => ({
  ...(accountId === undefined ? {} : { accountId }),
  ...(source === undefined ? {} : { source }),
})
