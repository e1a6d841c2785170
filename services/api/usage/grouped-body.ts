import type { GroupedUsage, GroupSeries, GroupUsage } from '../../../shared/domain/grouped-usage.ts'
import { periodStartsIn } from '../../../shared/domain/period.ts'
import { type Aggregation, formatAggregation } from '../../../shared/domain/usage-aggregate.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { SMALL_STEPS, yielder } from '../../../shared/lifecycle/yielder.ts'
import type { GroupedUsageQuery } from './grouped-usage.ts'

/** The body of an answer with usage by group. It may have tens of thousands of quantities, so it is made bit by bit. */
export async function groupedUsageToBody(
  query: GroupedUsageQuery,
  { total, data, rest, without }: GroupedUsage,
): Promise<SchemaOf<'GroupedUsage'>> {
  const { source, aggregation, groupBy, property, period, range } = query
  const starts = period && periodStartsIn(period, range)
  const turns = yielder(SMALL_STEPS)
  const ofSeries = async (series: GroupSeries | undefined): Promise<SchemaOf<'UsageSeries'>> => {
    const whole = quantityOf(series?.whole, aggregation)
    if (starts === undefined) return whole
    const periods: SchemaOf<'UsagePeriods'>[number][] = []
    for (const start of starts) {
      if (turns.isDue()) await turns.yieldToOthers()
      periods.push({ period_start_at: start, ...quantityOf(series?.periods.get(start), aggregation) })
    }
    return { ...whole, periods }
  }
  const groups: SchemaOf<'UsageGroup'>[] = []
  for (const group of data)
    groups.push({
      account_id: groupBy === 'account' ? group.name : null,
      value: groupBy === 'property' ? group.name : null,
      ...(await ofSeries(group)),
    })
  return {
    ...sourceToBody(source),
    aggregation,
    group_by: groupBy ?? null,
    property: property ?? null,
    total: await ofSeries(total),
    data: groups,
    rest: rest === undefined ? null : { groups: rest.groups, ...(await ofSeries(rest)) },
    without: without === undefined ? null : await ofSeries(without),
  }
}

/** Without events, a sum and a count are 0, and other quantities are null. */
function quantityOf(usage: GroupUsage | undefined, aggregation: Aggregation) {
  if (usage !== undefined)
    return { quantity: formatAggregation(usage, aggregation), event_count: Number(usage.count) }
  const isZero = aggregation === 'sum' || aggregation === 'count'
  return { quantity: isZero ? '0' : null, event_count: 0 }
}
