/** The metric or currency that usage is measured in: a metric's id (`metric_…`) or a lowercase code (`usd`). */
export type UsageSource = string

/** Whether a usage source is a metric; otherwise it is a currency. */
export const isMetric = (source: UsageSource): boolean => source.startsWith('metric_')

const CURRENCY_TYPE = /^currency:([A-Za-z]{3})$/

/** The currency of a CloudEvent, by its type: `currency:usd`. Undefined if the type means metrics. */
export const currencyOfType = (type: string): UsageSource | undefined =>
  CURRENCY_TYPE.exec(type)?.[1]?.toLowerCase()

/** Whether the type of a CloudEvent means usage in a currency. */
export const isCurrencyType = (type: string): boolean => CURRENCY_TYPE.test(type)

/** The fields by which requests name a metric or a currency. Null means absent. */
export interface NamedSource {
  metric_id?: string | null
  currency?: string | null
}

/** The sources that a request names: none, one, or both. Both together are always an error. */
export const namedSources = ({ metric_id: metricId, currency }: NamedSource): UsageSource[] =>
  [metricId, currency?.toLowerCase()].filter((source) => source != null)
