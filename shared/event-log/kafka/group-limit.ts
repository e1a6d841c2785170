/**
 * How long a group of records may be under way: one request that finds out that its broker no longer leads a partition,
 * and the next request.
 *
 * @param requestTimeoutMs how long a broker may take to answer
 */
export const groupLimitMs = (requestTimeoutMs: number): number => 2 * requestTimeoutMs
