/** An error of ClickHouse, recognized by its shape, because this folder imports no driver. */
interface ClickHouseError extends Error {
  /** A number as text. */
  code: string
  type: string
}

/**
 * The part of an error that may be logged. A message of ClickHouse may quote rows of usage, so only the code and its
 * name are logged.
 */
export function loggableError(err: unknown): unknown {
  return isOfClickHouse(err) ? { code: err.code, type: err.type } : err
}

const isOfClickHouse = (err: unknown): err is ClickHouseError =>
  err instanceof Error &&
  'code' in err &&
  typeof err.code === 'string' &&
  /^\d+$/.test(err.code) &&
  'type' in err &&
  typeof err.type === 'string'
