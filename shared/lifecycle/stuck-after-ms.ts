/**
 * The time after which an attempt counts as stuck. The time limits of the database clients end every normal attempt. An
 * attempt that lasts twice as long as all limits together will never end.
 *
 * @param limits the time limits of a statement in PostgreSQL, in milliseconds, and of a query in ClickHouse, in seconds
 */
export const stuckAfterMs = (limits: { statementTimeoutMs: number; queryTimeoutS: number }): number =>
  60_000 + 2 * (limits.statementTimeoutMs + limits.queryTimeoutS * 1_000)
