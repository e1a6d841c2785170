import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import type { Pool, PoolClient } from '../../shared/postgres/core/pool.ts'

/** A query that was sent to ClickHouse. */
export interface SentQuery {
  query: string
  params: Record<string, unknown>
}

/** The statements that were sent to the databases since the counts were last cleared. */
export class QueryCounts {
  /** Statements except those that begin or end a transaction. */
  readonly postgres: string[] = []
  readonly clickhouse: SentQuery[] = []

  clear(): void {
    this.postgres.length = 0
    this.clickhouse.length = 0
  }
}

/**
 * The queries for usage. The query for the state of the rollups is left out, because its result is cached and it may
 * run at any time.
 */
export const usageQueriesOf = ({ clickhouse }: QueryCounts): SentQuery[] =>
  clickhouse.filter(({ query }) => !query.includes('FROM rollup_epochs'))

const FRAME = /^\s*(?:BEGIN|COMMIT|ROLLBACK|SELECT set_config\()/

/** Wraps a pool, and records the statements on its connections. */
export function countingPool(pool: Pool, counts: QueryCounts): Pool {
  const note = (query: unknown) => {
    const text =
      typeof query === 'object' && query !== null && 'text' in query ? String(query.text) : String(query)
    if (!FRAME.test(text)) counts.postgres.push(text)
  }
  const counted = (client: PoolClient): PoolClient =>
    new Proxy(client, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          if (name === 'query') note(args[0])
          return (value as (...given: unknown[]) => unknown).apply(target, args)
        }
      },
    })
  return new Proxy(pool, {
    get(target, name) {
      if (name === 'connect') return async () => counted(await target.connect())
      if (name === 'query')
        return (...args: unknown[]) => {
          note(args[0])
          return (target.query as (...given: unknown[]) => unknown).apply(target, args)
        }
      return Reflect.get(target, name) as unknown
    },
  })
}

/** Wraps a client, and records its queries. */
export const countingClickHouse = (client: ClickHouse, counts: QueryCounts): ClickHouse =>
  new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (name === 'query') {
          const { query, query_params: params } = args[0] as {
            query: string
            query_params?: SentQuery['params']
          }
          counts.clickhouse.push({ query, params: params ?? {} })
        }
        return (value as (...given: unknown[]) => unknown).apply(target, args)
      }
    },
  })
