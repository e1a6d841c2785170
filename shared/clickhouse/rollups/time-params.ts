// Why no subqueries: ClickHouse does not know their results yet when it decides which parts to read, so it opens all
// parts. Why numbers: lists may have thousands of times, and as text a time takes twice as many bytes. A server accepts
// 128 KiB in one parameter. That is enough for 17,000 days, and events span five years at most.

/** SQL for a list of times, from a parameter with Unix seconds. */
export const timesParam = (name: string): string => `{${name}:Array(UInt32)}::Array(DateTime('UTC'))`

/** A parameter of type Date, from a second of the day. */
export const isoDay = (second: number): string => new Date(second * 1_000).toISOString().slice(0, 10)

/** SQL for a list of days, from a parameter with numbers of days since 1970. */
export const daysParam = (name: string): string => `{${name}:Array(UInt16)}::Array(Date)`
