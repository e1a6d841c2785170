// Why no subqueries: what one gives is not known yet when ClickHouse decides which parts it reads, so it opens all of
// them. Why numbers: lists of thousands of times are sent, and as text one takes twice as many bytes. A server takes
// 128 KiB of one parameter: 17,000 days, where events may be of five years.

/** Times to compare with, from a parameter that has them as Unix seconds. */
export const timesParam = (name: string): string => `{${name}:Array(UInt32)}::Array(DateTime('UTC'))`

/** Days to compare with, from a parameter that has them as days since 1970. */
export const daysParam = (name: string): string => `{${name}:Array(UInt16)}::Array(Date)`
