/**
 * Assignments that set a time column once: archiving and voiding again keep the first time, and do not change
 * updated_at.
 *
 * @param column a time that is null until it is set
 */
export const setOnce = (column: 'archived_at' | 'voided_at'): string => `
  ${column} = coalesce(${column}, clock_timestamp()),
  updated_at = CASE WHEN ${column} IS NULL THEN clock_timestamp() ELSE updated_at END`

/** Assignments that clear the time; they do not change updated_at when it was not set. */
export const unset = (column: 'archived_at'): string => `
  ${column} = NULL,
  updated_at = CASE WHEN ${column} IS NULL THEN updated_at ELSE clock_timestamp() END`
