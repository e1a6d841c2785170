import type { Schema } from '../../api/contract.ts'
import type { Source } from '../../parts/sources.ts'

/** The charge that measures no usage. */
export const FIXED = 'fixed'

export const AGGREGATIONS = ['sum', 'count', 'min', 'max', 'avg', 'latest'] as const

/** A rate as it is typed. */
export interface RateDraft {
  /** The id of a metric, the code of a currency, or FIXED. */
  source: string
  aggregation: string
  /** Properties and values, one a row. Rows of one property are alternatives. */
  filters: readonly { property: string; value: string }[]
  groupBy: string
  prices: readonly { value: string; priceId: string }[]
  priceId: string
  /** When it starts and ends, if that is not with the change. It is not typed, but kept. */
  times: Pick<Schema<'NewRate'>, 'starts_at' | 'ends_at'>
}

export const NO_RATE: RateDraft = {
  source: '',
  aggregation: 'sum',
  filters: [],
  groupBy: '',
  prices: [],
  priceId: '',
  times: {},
}

/** Whether a rate can be sent. Tally checks the rest. */
function isComplete({ source, filters, groupBy, prices, priceId }: RateDraft): boolean {
  if (source === '') return false
  if (source === FIXED) return priceId !== ''
  if (filters.some(({ property, value }) => property === '' || value === '')) return false
  if (groupBy === '') return priceId !== ''
  return prices.length > 0 && prices.every(({ value, priceId: ofValue }) => value !== '' && ofValue !== '')
}

function newRateOf(draft: RateDraft): Schema<'NewRate'> {
  const { source, aggregation, groupBy, prices, priceId, times } = draft
  if (source === FIXED) return { price_id: priceId, ...times }
  const filters = filtersOf(draft)
  return {
    ...(source.startsWith('metric_') ? { metric_id: source } : { currency: source }),
    ...(aggregation === 'sum'
      ? {}
      : { aggregation: AGGREGATIONS.find((known) => known === aggregation) ?? 'sum' }),
    ...(filters.length === 0 ? {} : { filters }),
    ...(groupBy === ''
      ? {}
      : { group_by: groupBy, prices: prices.map(({ value, priceId: price_id }) => ({ value, price_id })) }),
    ...(priceId === '' ? {} : { price_id: priceId }),
    ...times,
  }
}

function filtersOf({ filters }: RateDraft): Schema<'RateFilter'>[] {
  const properties = [...new Set(filters.map(({ property }) => property))]
  return properties.map((property) => ({
    property,
    values: filters.filter((filter) => filter.property === property).map(({ value }) => value),
  }))
}

/** The rates in the form of the API. @returns undefined while something is missing */
export const newRatesOf = (drafts: readonly RateDraft[]): Schema<'NewRate'>[] | undefined =>
  drafts.every(isComplete) ? drafts.map(newRateOf) : undefined

/** A rate of the API as it would be typed. */
export const draftOf = (rate: Schema<'NewRate'>): RateDraft => ({
  source: rate.metric_id ?? rate.currency ?? FIXED,
  aggregation: rate.aggregation ?? 'sum',
  filters: (rate.filters ?? []).flatMap(({ property, values }) =>
    values.map((value) => ({ property, value })),
  ),
  groupBy: rate.group_by ?? '',
  prices: (rate.prices ?? []).map(({ value, price_id: priceId }) => ({ value, priceId })),
  priceId: rate.price_id ?? '',
  times: {
    ...(rate.starts_at == null ? {} : { starts_at: rate.starts_at }),
    ...(rate.ends_at == null ? {} : { ends_at: rate.ends_at }),
  },
})

/** The prices that a rate may have: in the card's currency, and flat only without usage. */
export const pricesFor = (
  prices: readonly Schema<'Price'>[],
  currency: string,
  source: string,
): Schema<'Price'>[] =>
  prices.filter(
    (price) =>
      price.archived_at === null &&
      price.currency === currency &&
      (source === FIXED ? price.model === 'flat' && price.recurring : price.model !== 'flat'),
  )

/** The choices of what a rate measures. */
export const sourceOptions = (sources: readonly Source[]): { value: string; label: string }[] => [
  { value: '', label: 'Choose…' },
  ...sources.filter(({ isArchived }) => !isArchived).map(({ id, label }) => ({ value: id, label })),
  { value: FIXED, label: 'Nothing: a fixed charge' },
]
