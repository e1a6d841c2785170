/** All tables of rollups, which have an epoch in each row. */
export const ROLLUP_TABLES = [
  'usage_by_slot',
  'usage_by_slot_by_time',
  'usage_by_slot_total',
  'usage_by_day',
  'usage_by_month',
  'usage_by_day_total',
] as const
