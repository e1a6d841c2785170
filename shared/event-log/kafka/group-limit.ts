/**
 * How long a group of records may be under way: a request that finds out that its broker leads a partition no more, and
 * the one after it.
 *
 * @param requestTimeoutMs how long a broker may take to answer
 */
export const groupLimitMs = (requestTimeoutMs: number): number => 2 * requestTimeoutMs
