// Why no subqueries: their results are not known yet when ClickHouse decides which parts it reads, so it opens all
// parts. Why numbers: lists of thousands of times are sent, and as text a time takes twice as many bytes. A server
// accepts 128 KiB in one parameter: 17,000 days, and events may span five years.

/** Times as SQL, from a parameter that holds Unix seconds. */
export const timesParam = (name: string): string => `{${name}:Array(UInt32)}::Array(DateTime('UTC'))`

/** Days as SQL, from a parameter that holds days since 1970. */
export const daysParam = (name: string): string => `{${name}:Array(UInt16)}::Array(Date)`
