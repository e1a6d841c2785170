/** What usage is measured against: a metric's id (`metric_…`) or a lowercase currency code (`usd`). */
export type UsageSource = string

/** Whether a usage source is a metric; otherwise it is a currency. */
export const isMetric = (source: UsageSource): boolean => source.startsWith('metric_')
