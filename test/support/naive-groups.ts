import { expect } from 'chai'
import type { GroupedUsageReader } from '../../shared/clickhouse/usage/grouped-usage.ts'
import type { GroupedUsage, GroupSeries, GroupUsage } from '../../shared/domain/grouped-usage.ts'
import type { Period } from '../../shared/domain/period.ts'
import type { TimeRange } from '../../shared/domain/time-range.ts'
import { type Aggregation, formatAggregation } from '../../shared/domain/usage-aggregate.ts'
import { unitsOf } from './decimal-units.ts'
import type { ModelEvent, UsageModel } from './usage-model.ts'

/** A request for usage by group. */
export interface GroupAsk {
  range: TimeRange
  source: string
  accountId: string | undefined
  aggregation: Aggregation
  period: Period | undefined
  limit: number
  /** Undefined: by account. */
  property: string | undefined
}

/** Usage as text: in all of a range, and by the start of each period that has events. */
interface NaiveSeries {
  quantity: string
  count: number
  periods: Record<number, [quantity: string, count: number]>
}

/** The expected answer. Parts without events are undefined. */
export interface NaiveGroups {
  total: NaiveSeries | undefined
  data: (NaiveSeries & { name: string })[]
  rest: (NaiveSeries & { groups: number }) | undefined
  without: NaiveSeries | undefined
}

/** Groups events with plain loops. */
export function naiveGroups(model: UsageModel, ask: GroupAsk): NaiveGroups {
  const { range, source, accountId, property, aggregation, limit } = ask
  const events = model
    .list(range)
    .filter((event) => event.source === source && (accountId === undefined || event.accountId === accountId))
  const byName = new Map<string | undefined, ModelEvent[]>()
  for (const event of events) {
    const name = property === undefined ? event.accountId : valueOf(event, property)
    byName.set(name, [...(byName.get(name) ?? []), event])
  }
  const seriesOf = (some: readonly ModelEvent[]) => naiveSeries(model, some, ask)
  const named = [...byName].flatMap(([name, some]) =>
    name === undefined ? [] : [{ name, some, units: unitsOf(quantityOf(model, some, aggregation)) }],
  )
  named.sort((a, b) =>
    a.units === b.units
      ? Buffer.compare(Buffer.from(a.name), Buffer.from(b.name))
      : a.units > b.units
        ? -1
        : 1,
  )
  const others = named.slice(limit)
  const ofOthers = seriesOf(others.flatMap(({ some }) => some))
  return {
    total: seriesOf(events),
    data: named.slice(0, limit).flatMap(({ name, some }) => {
      const series = seriesOf(some)
      return series === undefined ? [] : [{ name, ...series }]
    }),
    rest: ofOthers && { groups: others.length, ...ofOthers },
    without: seriesOf(byName.get(undefined) ?? []),
  }
}

/** The value of a property as text, if it is one by which events are found. */
function valueOf({ properties = {} }: ModelEvent, property: string): string | undefined {
  const value = Object.hasOwn(properties, property) ? properties[property] : undefined
  if (typeof value === 'number' || typeof value === 'boolean') return JSON.stringify(value)
  return typeof value === 'string' && value !== '' && Array.from(value).length <= 500 ? value : undefined
}

function quantityOf(model: UsageModel, events: readonly ModelEvent[], aggregation: Aggregation): string {
  const ids = new Set(events.map(({ id }) => id))
  return Object.values(model.usage(aggregation, 0, 2 ** 33, ({ id }) => ids.has(id)))[0] ?? ''
}

function naiveSeries(
  model: UsageModel,
  events: readonly ModelEvent[],
  { aggregation, period }: GroupAsk,
): NaiveSeries | undefined {
  if (events.length === 0) return undefined
  const starts = new Map<number, ModelEvent[]>()
  for (const event of period === undefined ? [] : events) {
    const date = new Date(event.occurredAt * 1_000).toISOString()
    const start = Date.parse(period === 'day' ? date.slice(0, 10) : `${date.slice(0, 7)}-01`) / 1_000
    starts.set(start, [...(starts.get(start) ?? []), event])
  }
  return {
    quantity: quantityOf(model, events, aggregation),
    count: events.length,
    periods: Object.fromEntries(
      [...starts].map(([start, some]) => [start, [quantityOf(model, some, aggregation), some.length]]),
    ),
  }
}

/** Asks a reader, and compares its answer with the model. */
export async function compareGroups(
  reader: GroupedUsageReader,
  namespaceId: string,
  model: UsageModel,
  ask: GroupAsk,
  when: string,
): Promise<void> {
  const { property } = ask
  const read =
    property === undefined
      ? await reader.byAccount(namespaceId, ask)
      : await reader.byProperty(namespaceId, ask, property)
  const asked = `${when}, asked for ${JSON.stringify(ask)}`
  expect(shownGroups(read, ask.aggregation), asked).to.deep.equal(naiveGroups(model, ask))
}

function shownGroups({ total, data, rest, without }: GroupedUsage, aggregation: Aggregation): NaiveGroups {
  const shown = (usage: GroupUsage): [string, number] => [
    formatAggregation(usage, aggregation),
    Number(usage.count),
  ]
  const seriesOf = ({ whole, periods }: GroupSeries): NaiveSeries => ({
    quantity: shown(whole)[0],
    count: shown(whole)[1],
    periods: Object.fromEntries([...periods].map(([start, usage]) => [start, shown(usage)])),
  })
  return {
    total: total && seriesOf(total),
    data: data.map((group) => ({ name: group.name, ...seriesOf(group) })),
    rest: rest && { groups: rest.groups, ...seriesOf(rest) },
    without: without && seriesOf(without),
  }
}
