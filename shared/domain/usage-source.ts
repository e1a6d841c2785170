/** What usage is measured against: a metric's id (`metric_…`) or a lowercase currency code (`usd`). */
export type UsageSource = string

/** Whether a usage source is a metric; otherwise it is a currency. */
export const isMetric = (source: UsageSource): boolean => source.startsWith('metric_')

/** A metric or a currency, as requests name them. Null means absent. */
export interface NamedSource {
  metric_id?: string | null
  currency?: string | null
}

/** The sources that are named: none, one, or both, which is always an error. */
export const namedSources = ({ metric_id: metricId, currency }: NamedSource): UsageSource[] =>
  [metricId, currency?.toLowerCase()].filter((source) => source != null)
