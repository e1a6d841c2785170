import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import type { Pool, PoolClient, Queryable } from './core/pool.ts'

/** A balance to be checked. */
export interface RefillRequest {
  namespaceId: string
  accountId: string
  metricId: string
}

const CHANNEL = 'tally_refills'

// Requests are sent when the transaction commits, and only for active configurations.
const REQUEST_ALL = `
  SELECT pg_notify('${CHANNEL}', concat_ws(' ', namespace_id, account_id, metric_id)) FROM refill_configurations
  WHERE namespace_id = $1 AND is_active`
const REQUEST = `${REQUEST_ALL} AND account_id = $2 AND metric_id = $3`
// The message consists of the namespace. It names no account and no metric.
const REQUEST_CREDITS = `SELECT pg_notify('${CHANNEL}', $1)`

/**
 * Asks the refill services to check a balance as soon as the transaction is committed, if it has an active refill
 * configuration.
 */
export async function requestRefill(
  db: Queryable,
  { namespaceId, accountId, metricId }: RefillRequest,
): Promise<void> {
  await db.query(REQUEST, [namespaceId, accountId, metricId])
}

/**
 * Asks the refill services to check every balance of a namespace that has an active refill configuration. The grants in
 * force may have changed for all of these balances.
 */
export async function requestRefills(db: Queryable, namespaceId: string): Promise<void> {
  await db.query(REQUEST_ALL, [namespaceId])
}

/**
 * When the transaction is committed, asks the refill services to give all credit that is due in the contracts of a
 * namespace.
 */
export async function requestCredits(db: Queryable, namespaceId: string): Promise<void> {
  await db.query(REQUEST_CREDITS, [namespaceId])
}

export interface RefillRequestListener {
  onRequest: (request: RefillRequest) => void
  onCreditRequest: (namespaceId: string) => void
  /** Called when listening begins, and again after each interruption, because earlier requests may have been missed. */
  onGap: () => void
}

/** How often the connection is tested. A connection that broke without an error would otherwise not be noticed. */
const TRY_MS = 10_000
const BACK_OFF_MS = 1_000

/** Listens for requests until it is closed, on a connection of its own from the pool. */
export function listenForRefillRequests(
  pool: Pool,
  { onRequest, onCreditRequest, onGap }: RefillRequestListener,
  log: Logger,
): Closeable {
  const stopping = new AbortController()
  const { signal } = stopping
  const listen = async (db: PoolClient) => {
    db.on('notification', ({ payload }) => {
      const [namespaceId = '', accountId, metricId = ''] = (payload ?? '').split(' ')
      if (accountId === undefined) onCreditRequest(namespaceId)
      else onRequest({ namespaceId, accountId, metricId })
    })
    await db.query(`LISTEN ${CHANNEL}`)
    onGap()
    while (await sleep(TRY_MS, true, { signal }).catch(() => false)) await db.query('SELECT 1')
  }
  const run = async () => {
    let isAway = false
    while (!signal.aborted) {
      let db: PoolClient | undefined
      try {
        db = await pool.connect()
        isAway = false
        await listen(db)
      } catch (err) {
        if (!isAway) log.warn({ err }, 'cannot listen for requests for refills, trying again')
        isAway = true
        await sleep(BACK_OFF_MS, undefined, { signal }).catch(() => undefined)
      } finally {
        db?.release(true) // no other user of the pool must get this connection, which listens
      }
    }
  }
  const running = run()
  return {
    name: 'requests for refills',
    close: () => {
      stopping.abort()
      return running
    },
  }
}
