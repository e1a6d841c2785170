/**
 * Assignments that give a time column its first value: archiving and voiding again keep the first time, and leave
 * updated_at alone.
 *
 * @param column a time that is null until then
 */
export const setOnce = (column: 'archived_at' | 'voided_at'): string => `
  ${column} = coalesce(${column}, clock_timestamp()),
  updated_at = CASE WHEN ${column} IS NULL THEN clock_timestamp() ELSE updated_at END`

/** Assignments that take the time away again; they leave updated_at alone when there was none. */
export const unset = (column: 'archived_at'): string => `
  ${column} = NULL,
  updated_at = CASE WHEN ${column} IS NULL THEN updated_at ELSE clock_timestamp() END`
