/**
 * The longest time that a group of records may be under way. It is enough for two requests: one to a broker that no
 * longer leads a partition, and one to the new leader.
 *
 * @param requestTimeoutMs how long a broker may take to answer
 */
export const groupLimitMs = (requestTimeoutMs: number): number => 2 * requestTimeoutMs
