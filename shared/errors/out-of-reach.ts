const SYSTEM_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'EAI_AGAIN',
])

/**
 * What a PostgreSQL server says when it stops, starts, has no connection left, gives a statement no more time, or ends
 * one of two transactions that wait for each other. Codes of ClickHouse are shorter.
 */
const POSTGRES_CODES = /^(?:08\w{3}|53\w{3}|57P0[1-3]|57014|55P03|40P01)$/

const MESSAGES = [
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Client has encountered a connection error',
  'Query read timeout',
  'Timeout error', // @clickhouse/client
  'socket hang up',
]

/** Whether an error of a driver says that its database is away or overloaded, rather than that we asked it nonsense. */
export function isOutOfReach(err: unknown): boolean {
  if (!(err instanceof Error)) return false
  const code = 'code' in err ? String(err.code) : ''
  if (SYSTEM_CODES.has(code) || POSTGRES_CODES.test(code)) return true
  if (MESSAGES.some((message) => err.message.includes(message))) return true
  return err instanceof AggregateError ? err.errors.some(isOutOfReach) : isOutOfReach(err.cause)
}
