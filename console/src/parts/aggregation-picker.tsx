import type { Schema } from '../api/contract.ts'
import { useUrlQuery } from '../app/url.ts'
import { Select } from './choice.tsx'
import type { Source } from './sources.ts'

export type Aggregation = Schema<'UsageAggregation'>

const OPTIONS: readonly { value: Aggregation; label: string }[] = [
  { value: 'sum', label: 'Sum' },
  { value: 'count', label: 'Number of events' },
  { value: 'avg', label: 'Average' },
  { value: 'max', label: 'Largest' },
  { value: 'min', label: 'Smallest' },
  { value: 'latest', label: 'Latest' },
]

/** The aggregation of the address; the sum without one. */
export const aggregationOf = (text: string | undefined): Aggregation =>
  OPTIONS.find(({ value }) => value === text)?.value ?? 'sum'

export const aggregationLabel = (aggregation: Aggregation): string =>
  OPTIONS.find(({ value }) => value === aggregation)?.label ?? aggregation

/** What an aggregation of a source is measured in: a number of events has no unit of the source. */
export const measuredIn = (source: Source, aggregation: Aggregation): Source =>
  aggregation === 'count' ? { ...source, unit: 'events', isMetric: true } : source

/** Chooses how one quantity is made of many events, and writes it into the address. */
export function AggregationPicker({ chosen }: { chosen: Aggregation }) {
  const [, change] = useUrlQuery()
  return (
    <Select
      label="As"
      options={OPTIONS}
      value={chosen}
      onChange={(value) => change({ aggregation: value === 'sum' ? undefined : value })}
    />
  )
}
