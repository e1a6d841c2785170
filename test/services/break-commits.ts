import type { Pool, PoolClient } from '../../shared/postgres/core/pool.ts'

/** The point at which a connection is lost: before the COMMIT reaches the database, or before its answer arrives. */
export type CommitBreak = 'before commit' | 'after commit'

/** A pool whose connections a test can break at the commit of work that uses up an Idempotency-Key. */
export interface BreakingPool {
  pool: Pool
  /** Breaks the next such commit at this point; undefined breaks none. */
  breakAt(place: CommitBreak | undefined): void
}

export function breakingPool(of: Pool): BreakingPool {
  let place: CommitBreak | undefined
  const breaking = (client: PoolClient): PoolClient => {
    let isKeyed = false
    const query = async (...args: unknown[]): Promise<unknown> => {
      const [text] = args
      if (text === 'BEGIN') isKeyed = false
      if (String(text).includes('INSERT INTO idempotency_keys')) isKeyed = true
      const ask = () => (client.query as (...given: unknown[]) => Promise<unknown>).apply(client, args)
      if (text !== 'COMMIT' || !isKeyed || place === undefined) return ask()
      const lost = place
      place = undefined
      if (lost === 'after commit') await ask()
      throw new Error('Connection terminated unexpectedly')
    }
    return new Proxy(client, {
      get(target, name) {
        if (name === 'query') return query
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
  }
  const pool = new Proxy(of, {
    get(target, name) {
      if (name === 'connect') return async () => breaking(await target.connect())
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return { pool, breakAt: (at) => (place = at) }
}
