import { addAmounts, type Amount, amountFromDatabase, compareAmounts } from '../amount/amount.ts'
import {
  type Aggregation,
  formatAggregation,
  type Measure,
  measuresOf,
  type UsageAggregate,
} from './usage-aggregate.ts'

/** The usage of a group of events. Sets of events can be merged (mergeGroupUsage). */
export interface GroupUsage extends UsageAggregate {
  count: bigint
  /** The identity of the event with the latest quantity; set if `latest` is. */
  latestEvent?: { acceptedAt: bigint; id: string }
}

/** The usage of a group in all of a range, and by period. */
export interface GroupSeries {
  whole: GroupUsage
  /** By the start of the period, in Unix seconds. Empty without periods; periods without events are absent. */
  periods: ReadonlyMap<number, GroupUsage>
}

/** The usage of a range, by group. Parts without events are undefined. */
export interface GroupedUsage {
  total: GroupSeries | undefined
  /** The groups with the largest quantities, the largest first. */
  data: (GroupSeries & { name: string })[]
  /** All other groups. */
  rest: (GroupSeries & { groups: number }) | undefined
  /** Events that belong to no group. */
  without: GroupSeries | undefined
}

/** The measures of a group: those of the aggregation, and the number of its events. */
export const groupMeasuresOf = (aggregation: Aggregation): Measure[] => [
  ...new Set<Measure>([...measuresOf(aggregation), 'count']),
]

/** The usage of two sets of events that have no event in common. Both have the same measures. */
export function mergeGroupUsage(a: GroupUsage | undefined, b: GroupUsage): GroupUsage {
  if (a === undefined) return b
  const later = isLater(a, b) ? a : b
  return {
    count: a.count + b.count,
    ...pick('sum', a, b, addAmounts),
    ...pick('min', a, b, (one, two) => (compareAmounts(one, two) <= 0 ? one : two)),
    ...pick('max', a, b, (one, two) => (compareAmounts(one, two) >= 0 ? one : two)),
    ...(later.latest && { latest: later.latest }),
    ...(later.latestEvent && { latestEvent: later.latestEvent }),
  }
}

function pick(
  measure: 'sum' | 'min' | 'max',
  a: GroupUsage,
  b: GroupUsage,
  merge: (a: Amount, b: Amount) => Amount,
): Partial<UsageAggregate> {
  const [one, two] = [a[measure], b[measure]]
  return one === undefined || two === undefined ? {} : { [measure]: merge(one, two) }
}

/** An event's id begins with the second in which the event occurred. */
function isLater({ latestEvent: a }: GroupUsage, { latestEvent: b }: GroupUsage): boolean {
  if (a === undefined || b === undefined) return a !== undefined
  const [one, two] = [a.id.slice(0, SECOND_DIGITS), b.id.slice(0, SECOND_DIGITS)]
  if (one !== two) return one > two
  if (a.acceptedAt !== b.acceptedAt) return a.acceptedAt > b.acceptedAt
  return a.id > b.id
}

/** The hexadecimal digits of an id that are the second of its event. */
const SECOND_DIGITS = 8

/** Merges series, period by period. */
export function mergeSeries(a: GroupSeries | undefined, b: GroupSeries): GroupSeries {
  if (a === undefined) return b
  const periods = new Map(a.periods)
  for (const [start, usage] of b.periods) periods.set(start, mergeGroupUsage(periods.get(start), usage))
  return { whole: mergeGroupUsage(a.whole, b.whole), periods }
}

/** Sorts groups: the largest quantity first, then by name, byte by byte. */
export function sortGroups<Group extends GroupSeries & { name: string }>(
  groups: readonly Group[],
  aggregation: Aggregation,
): Group[] {
  return groups
    .map((group) => ({
      group,
      quantity: amountFromDatabase(formatAggregation(group.whole, aggregation)),
      name: Buffer.from(group.name),
    }))
    .sort((a, b) => compareAmounts(b.quantity, a.quantity) || Buffer.compare(a.name, b.name))
    .map(({ group }) => group)
}
