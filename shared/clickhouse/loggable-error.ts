import { ClickHouseError } from '@clickhouse/client'

/** What may be logged of an error: ClickHouse's messages quote the rows they are about, so of them the code and its name. */
export function loggableError(err: unknown): unknown {
  return err instanceof ClickHouseError ? { code: err.code, type: err.type } : err
}
