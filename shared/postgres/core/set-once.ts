/**
 * Makes assignments that set a time column only once. Archiving or voiding again keeps the first time, and does not
 * change updated_at.
 *
 * @param column a time that is null until it is set
 */
export const setOnce = (column: 'archived_at' | 'voided_at'): string => `
  ${column} = coalesce(${column}, clock_timestamp()),
  updated_at = CASE WHEN ${column} IS NULL THEN clock_timestamp() ELSE updated_at END`

/** Makes assignments that clear the time. They do not change updated_at when the time was not set. */
export const unset = (column: 'archived_at'): string => `
  ${column} = NULL,
  updated_at = CASE WHEN ${column} IS NULL THEN updated_at ELSE clock_timestamp() END`
