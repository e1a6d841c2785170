import type { AnalystView } from '../../../shared/clickhouse/views-contract.ts'

/** The key and the columns of a view, each column with its type. */
interface PromisedView {
  key: readonly string[]
  columns: readonly string[]
}

const EVENT = [
  'account_id LowCardinality(String)',
  'metric_id Nullable(String)',
  'currency Nullable(String)',
  'quantity Decimal(76, 18)',
  "occurred_at DateTime('UTC')",
  'properties String',
  "accepted_at DateTime64(6, 'UTC')",
  "corrected_at Nullable(DateTime64(6, 'UTC'))",
  'property_tokens Array(FixedString(12))',
  'quantity_38 Decimal(38, 18)',
]
const SUMS = [
  'metric_id Nullable(String)',
  'currency Nullable(String)',
  'quantity Decimal(76, 18)',
  'events UInt64',
  'quantity_38 Decimal(38, 18)',
]

/** What was promised to analysts. Views and columns may be added to it, at the end; nothing in it may change. */
export const PROMISED: Readonly<Record<string, PromisedView>> = {
  events: { key: ['event_id'], columns: ['event_id String', ...EVENT] },
  event_changes: {
    key: ['event_id'],
    columns: ['event_id String', "changed_at DateTime64(6, 'UTC')", 'is_void Bool', ...EVENT],
  },
  daily_usage: {
    key: ['day', 'account_id', 'metric_id', 'currency'],
    columns: ['day Date', 'account_id String', ...SUMS],
  },
  daily_totals: { key: ['day', 'metric_id', 'currency'], columns: ['day Date', ...SUMS] },
}

/** Says what of a promise is broken. A new view or a new column at the end breaks none. */
export function findBroken(
  promised: typeof PROMISED,
  views: readonly Pick<AnalystView, 'name' | 'key' | 'columns'>[],
): string[] {
  return Object.entries(promised).flatMap(([name, { key, columns }]) => {
    const view = views.find((one) => one.name === name)
    if (view === undefined) return [`there is no view ${name}`]
    const found = view.columns.map((one) => `${one.name} ${one.type}`)
    const broken = columns.filter((column, place) => found[place] !== column)
    if (view.key.join() !== key.join()) broken.unshift(`key ${key.join()}`)
    return broken.map((one) => `${name} has no more: ${one}`)
  })
}
