/**
 * Times to compare with, from a parameter that has them as Unix seconds.
 *
 * Why no subquery: what one gives is not known yet when ClickHouse decides which parts it reads, so it opened all of them.
 */
export const timesOf = (param: string): string => `{${param}:Array(UInt32)}::Array(DateTime('UTC'))`
