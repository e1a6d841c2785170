import { expect } from 'chai'
import { formatAmount } from '../../../shared/amount/amount.ts'
import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import type { TimeRange } from '../../../shared/domain/time-range.ts'
import {
  type Aggregation,
  formatAggregation,
  measuresOf,
  type UsageAggregate,
} from '../../../shared/domain/usage-aggregate.ts'
import type { ModelEvent, UsageModel } from '../../support/usage-model.ts'

/** All aggregations. */
export const AGGREGATIONS: readonly Aggregation[] = ['sum', 'min', 'max', 'avg', 'latest', 'count']

/** A request to a reader. */
export interface ReaderAsk {
  range: TimeRange
  accountId: string | undefined
  source: string | undefined
}

/** The usage of a namespace. */
export interface ModelledUsage {
  namespaceId: string
  model: UsageModel
}

/**
 * Calls every method of a reader, with all six aggregations, and compares the answers with the model.
 *
 * @param others whose sums are asked for at the same time, twice each, so that they share queries: of accounts of the
 *   same ids
 */
export async function compareReader(
  reader: UsageReader,
  own: ModelledUsage,
  accounts: readonly string[],
  ask: ReaderAsk,
  when: string,
  others: readonly ModelledUsage[] = [],
): Promise<void> {
  const { namespaceId, model } = own
  const { range, accountId, source } = ask
  const isMeant = (event: ModelEvent) =>
    (accountId === undefined || event.accountId === accountId) &&
    (source === undefined || event.source === source)
  const asked = `${when}, asked for ${JSON.stringify(ask)}`

  const total = meant(model, range, isMeant)
  expect(shown(await reader.aggregate(namespaceId, ask)), asked).to.deep.equal(total)
  // One aggregation alone, like the API. The choice is the same in each run of a history.
  const name = AGGREGATIONS[(range.startAt + range.endAt) % AGGREGATIONS.length] ?? 'sum'
  const one = await reader.aggregate(namespaceId, { ...ask, measures: measuresOf(name) })
  expect(shown(one, [name]), `${asked}, ${name} alone`).to.deep.equal(onlyOf(total, name))
  for (const period of ['day', 'month'] as const) {
    const held = await reader.aggregateByPeriod(namespaceId, period, ask)
    const starts = new Map<number, Record<string, unknown>>()
    const length = period === 'day' ? 10 : 7
    const nameOf = (second: number) => new Date(second * 1_000).toISOString().slice(0, length)
    for (const second of model.listTimes(range, isMeant)) {
      const name = nameOf(second)
      const start = Date.parse(period === 'day' ? name : `${name}-01`) / 1_000
      if (!starts.has(start))
        starts.set(
          start,
          meant(model, range, (event) => isMeant(event) && nameOf(event.occurredAt) === name),
        )
    }
    expect(
      inOrder([...held].map(([start, usage]) => [start, shown(usage)])),
      `${asked} by ${period}`,
    ).to.deep.equal(inOrder([...starts]))
  }
  await Promise.all([own, ...others, ...others, own].map((one) => compareSums(reader, one, accounts, when)))
}

async function compareSums(
  reader: UsageReader,
  { namespaceId, model }: ModelledUsage,
  accounts: readonly string[],
  when: string,
): Promise<void> {
  const sums = await reader.sumByAccount(namespaceId, accounts)
  const ofAccounts = accounts.flatMap((account) => {
    const usage = model.usage('sum', 0, 2 ** 32, (event) => event.accountId === account)
    return Object.keys(usage).length === 0 ? [] : [[account, usage]]
  })
  expect(
    Object.fromEntries(
      [...sums].map(([account, usage]) => [
        account,
        Object.fromEntries([...usage].map(([name, sum]) => [name, formatAmount(sum)])),
      ]),
    ),
    `${when}, sums of accounts of ${namespaceId}`,
  ).to.deep.equal(Object.fromEntries(ofAccounts))
}

type Shown = Record<string, Partial<Record<Aggregation, string>>>

const onlyOf = (shown: Shown, name: Aggregation): Shown =>
  Object.fromEntries(Object.entries(shown).map(([source, usage]) => [source, { [name]: usage[name] }]))

const shown = (usage: ReadonlyMap<string, UsageAggregate>, aggregations = AGGREGATIONS): Shown =>
  Object.fromEntries(
    [...usage].map(([source, aggregate]) => [
      source,
      Object.fromEntries(aggregations.map((name) => [name, formatAggregation(aggregate, name)])),
    ]),
  )

function meant(
  model: UsageModel,
  { startAt, endAt }: TimeRange,
  isMeant: (event: ModelEvent) => boolean,
): Shown {
  const usage: Shown = {}
  for (const name of AGGREGATIONS)
    for (const [source, value] of Object.entries(model.usage(name, startAt, endAt, isMeant)))
      usage[source] = { ...usage[source], [name]: value }
  return usage
}

const inOrder = (periods: readonly (readonly [number, unknown])[]) => [...periods].sort(([a], [b]) => a - b)
