import type { Period } from '../../domain/period.ts'
import { clampRange, type TimeRange } from '../../domain/time-range.ts'
import { coverUsage } from '../../domain/usage-cover.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'
import {
  aggregateFromRow,
  groupRows,
  usageAggregateRepository,
  type AggregateRow,
  type UsageSelection,
} from './usage-aggregates.ts'
import { accountSums, type AccountSums } from './account-sums.ts'
import type { SumsCache } from './sums-cache.ts'
import type { UsageReader } from './usage-reader.ts'
import { selectsOf, type Wanted } from '../rollups/cover-query.ts'
import { columnsOf, PERIOD_START } from '../rollups/measure-columns.ts'
import { rollupStateReader } from '../rollups/rollup-state.ts'
import { retryIfStale } from '../rollups/retry-if-stale.ts'

/** What a query gives. */
interface Answer {
  select: string
  groupBy: string
}

/**
 * Usage as the raw events have it, read through rollups wherever they are complete.
 *
 * @param sumsCache sums of accounts whose usage nobody writes; undefined where others than this process may
 */
export function usageThroughRollups(client: ClickHouse, sumsCache?: SumsCache): UsageReader & AccountSums {
  const events = usageAggregateRepository(client)
  const states = rollupStateReader(client)
  /** The rows of a query over everything that a range is read from; undefined while there are no rollups. */
  const read = <Row>(
    { select, groupBy }: Answer,
    wanted: Wanted,
    namespaceId: string,
    range: TimeRange,
    accountIds: readonly string[] | undefined,
    params: Record<string, unknown>,
    period?: Period,
  ): Promise<Row[] | undefined> =>
    retryIfStale(async () => {
      const state = await states.read(namespaceId, range, accountIds)
      if (state === undefined) return undefined
      const totals = accountIds === undefined
      const cover = coverUsage(range, state, { hasMonths: !totals && period !== 'day' })
      const { selects, params: places } = selectsOf(cover, state, wanted, totals)
      if (selects.length === 0) return []
      const query = `SELECT ${select} FROM (${selects.join('\nUNION ALL\n')}) GROUP BY ${groupBy}`
      return queryRows<Row>(client, query, {
        ...places,
        ...params,
        namespaceId,
        epoch: state.epoch,
      })
    })

  return {
    async aggregate(namespaceId, selection) {
      const range = clampRange(selection.range)
      if (range.startAt >= range.endAt) return new Map()
      if (selection.property !== undefined) return events.aggregate(namespaceId, selection)
      const { rolled, ofEvent, merged } = columnsOf(selection)
      const rows = await read<AggregateRow>(
        { select: merged, groupBy: 'source' },
        {
          fromMonths: rolled,
          fromDays: rolled,
          fromSlots: rolled,
          fromEvents: ofEvent,
          filters: filtersOf(selection),
        },
        namespaceId,
        range,
        accountsOf(selection),
        paramsOf(selection),
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
      const { rolled, ofEvent, merged } = columnsOf(selection)
      const rows = await read<AggregateRow & { period_start: number }>(
        { select: `period_start, ${merged}`, groupBy: 'period_start, source' },
        {
          fromMonths: `${startOf('month')}, ${rolled}`,
          fromDays: `${startOf('day')}, ${rolled}`,
          fromSlots: `${startOf('slot')}, ${rolled}`,
          fromEvents: `${startOf('occurred_at')}, ${ofEvent}`,
          filters: filtersOf(selection),
        },
        namespaceId,
        range,
        accountsOf(selection),
        paramsOf(selection),
        period,
      )
      if (rows === undefined) return fromEvents()
      return groupRows(rows, (row) => row.period_start, aggregateFromRow)
    },

    ...accountSums(client, states, events, sumsCache),
  }
}

const OF_NAMESPACE = 'namespace_id = {namespaceId:String}'
const OF_ACCOUNT = 'account_id = {accountId:String}'
const OF_SOURCE = 'source = {source:String}'

const accountsOf = ({ accountId }: UsageSelection): string[] | undefined =>
  accountId === undefined ? undefined : [accountId]

const filtersOf = ({ accountId, source }: UsageSelection): string[] => [
  OF_NAMESPACE,
  ...(accountId === undefined ? [] : [OF_ACCOUNT]),
  ...(source === undefined ? [] : [OF_SOURCE]),
]

const paramsOf = ({ accountId, source }: UsageSelection): Record<string, unknown> => ({
  ...(accountId === undefined ? {} : { accountId }),
  ...(source === undefined ? {} : { source }),
})
