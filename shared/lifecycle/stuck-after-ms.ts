/**
 * Every attempt at something ends by a limit of its client; one that lasts twice as long as all of them never will.
 *
 * @param limits how long a statement in PostgreSQL may take in milliseconds, and a query in ClickHouse in seconds
 */
export const stuckAfterMs = (limits: { statementTimeoutMs: number; queryTimeoutS: number }): number =>
  60_000 + 2 * (limits.statementTimeoutMs + limits.queryTimeoutS * 1_000)
