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
 * PostgreSQL's error codes for: a server that stops, starts or has no connection left; a statement or a wait for a lock
 * that took too long; a deadlock. Codes of ClickHouse are shorter, so they do not match.
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

/**
 * Whether an error of a driver means that its database is out of reach or overloaded. Other errors mean, for example,
 * that a statement is wrong.
 */
export function isOutOfReach(err: unknown): boolean {
  if (!(err instanceof Error)) return false
  const code = 'code' in err ? String(err.code) : ''
  if (SYSTEM_CODES.has(code) || POSTGRES_CODES.test(code)) return true
  if (MESSAGES.some((message) => err.message.includes(message))) return true
  return err instanceof AggregateError ? err.errors.some(isOutOfReach) : isOutOfReach(err.cause)
}
