import pg from 'pg'

/** Whether an error says that a row of a unique index exists already. */
export const isUniqueViolation = (err: unknown, index: string): boolean =>
  err instanceof pg.DatabaseError && err.code === '23505' && err.constraint === index

/**
 * Whether an error says that a row refers to one that does not exist.
 *
 * @param constraint the name of the foreign key
 */
export const isForeignKeyViolation = (err: unknown, constraint: string): boolean =>
  err instanceof pg.DatabaseError && err.code === '23503' && err.constraint === constraint

/**
 * Whether an error says that a row breaks a rule of its table.
 *
 * @param constraint the name of the check
 */
export const isCheckViolation = (err: unknown, constraint: string): boolean =>
  err instanceof pg.DatabaseError && err.code === '23514' && err.constraint === constraint

/**
 * Whether an error says that a row conflicts with another row.
 *
 * @param constraint the name of the exclusion
 */
export const isExclusionViolation = (err: unknown, constraint: string): boolean =>
  err instanceof pg.DatabaseError && err.code === '23P01' && err.constraint === constraint

/** Whether PostgreSQL ended a transaction because of a deadlock. */
export const isDeadlock = (err: unknown): boolean => err instanceof pg.DatabaseError && err.code === '40P01'

/** Whether PostgreSQL gave up waiting for a lock after `lock_timeout`. */
export const isLockTimeout = (err: unknown): boolean =>
  err instanceof pg.DatabaseError && err.code === '55P03'

/** Whether PostgreSQL refused the values of a statement. Repeating the statement would fail again. */
export const isRefusedRow = (err: unknown): boolean =>
  err instanceof pg.DatabaseError && /^2[23]/.test(err.code ?? '')
