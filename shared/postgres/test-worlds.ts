import { FairSemaphore } from '../batching/fair-semaphore.ts'
import { DomainError } from '../errors/domain-error.ts'
import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import { openServicePool, type PostgresServer } from './core/open-service-pool.ts'
import { CONNECT_MS, type Pool, type PoolClient, type Queryable } from './core/pool.ts'
import { withTransaction } from './core/transaction.ts'
import { isLockTimeout } from './core/violations.ts'

/** The current state of a test company: a reset gives it another namespace, and its clock may be moved. */
export interface World {
  namespaceId: string
  /** How far the namespace's clock runs ahead of real time. */
  aheadMs: number
}

/** A world that does not change until it is left. */
interface Lease extends World {
  leave: () => void
}

/**
 * The worlds of test companies, which are the same for all processes. Callers are cached for seconds. Therefore each
 * request of a test company looks up its company's namespace again. That takes one round trip, on connections that no
 * live company uses.
 *
 * Each company has a lock that can be shared. Requests that write share it (enter). A reset or a move of the clock
 * takes it exclusively (move).
 *
 * @see docs/decisions/0010-worlds-of-test-companies.md
 */
export interface TestWorlds {
  /** Returns the world for a request that only reads. */
  look(companyId: string): Promise<World>
  /**
   /**
    * Enters the world for a request that writes. The world is not moved until the request leaves it.
    *
    * @param onLost called when the world may be moved after all, because the connection with the lock was lost
    */
  enter(companyId: string, onLost: () => void): Promise<Lease>
  /**
   * Moves the world, in one transaction in its namespace. It waits for the requests that have entered, and later
   * requests wait for the move.
   *
   * @throws DomainError overloaded when a request does not leave in time. Nothing was done then
   */
  move<T>(companyId: string, work: (db: PoolClient, world: World) => Promise<T>): Promise<T>
}

/**
 * Requests that enter within this time after the first of them share a connection. A later request uses another
 * connection. If a move is waiting, that request waits until the move is done.
 */
const TOGETHER_MS = 100
/** The number of connections for all requests of test companies. Further requests wait. */
const CONNECTIONS = 10
/**
 * At most this many connections are used to enter one company's world, and one more to move it. Half of the connections
 * are left for other companies.
 */
const GROUPS_OF_COMPANY = 4
/** How long a move waits for requests that have entered, while others wait for the move. */
const LEASE_WAIT_MS_MAX = 8_000

/** Opens the connections for requests of test companies. They are closed with the process. */
export function openTestWorlds(
  postgres: PostgresServer,
  requestTimeoutMs: number,
  opened: Closeable[],
  log: Logger,
): TestWorlds & { pool: Pool } {
  const pool = openServicePool('test companies', CONNECTIONS, postgres, opened, log)
  // This is less than a statement's time limit, because requests that wait for the move wait just as long.
  const leaseWaitMs = Math.min(LEASE_WAIT_MS_MAX, requestTimeoutMs / 2, postgres.statementTimeoutMs * 0.8)
  return { pool, ...testWorlds(pool, leaseWaitMs, requestTimeoutMs) }
}

const LOOK = 'SELECT namespace_id, ahead_ms FROM current_world($1)'
const ENTER = 'SELECT namespace_id, ahead_ms FROM enter_world($1)'
const LEAVE = "SELECT pg_advisory_unlock_shared(hashtext('tally.world'), hashtext($1)) AS was_inside"
const WAIT_AT_MOST = "SELECT set_config('lock_timeout', $1, true)"
const TAKE_ALONE = "SELECT pg_advisory_xact_lock(hashtext('tally.world'), hashtext($1))"
const GO_INTO = "SELECT set_config('tally.namespace_id', $1, true)"

/**
 * @param leaseWaitMs how long a move waits for requests that have entered
 * @param leaseMsMax the time after which a lease ends by itself. By then the request has its answer. A client that does
 *   not read the answer must not block others
 * @internal
 */
export function testWorlds(
  pool: Pool,
  leaseWaitMs: number,
  leaseMsMax = 30_000,
  groupsOfCompany = GROUPS_OF_COMPANY,
): TestWorlds {
  const groups = new Map<string, LeaseGroup>()
  const entering = ofEachCompany(groupsOfCompany, CONNECT_MS, areInside)
  // Of several moves at once, only one holds a connection, because the others would wait for its lock anyway.
  const moving = ofEachCompany(1, leaseWaitMs, isHeld)
  return {
    look: (companyId) => readWorld(pool, 'look-at-world', LOOK, companyId),
    async enter(companyId, onLost) {
      const last = groups.get(companyId)
      const group = last?.isOpen() === true ? last : beginGroup(pool, entering, companyId)
      groups.set(companyId, group)
      const holder = { onLost }
      group.holders.add(holder)
      const leave = () => {
        clearTimeout(timer)
        if (!group.holders.delete(holder) || group.holders.size > 0) return
        if (groups.get(companyId) === group) groups.delete(companyId)
        group.end()
      }
      const timer = setTimeout(leave, leaseMsMax).unref()
      try {
        return { ...(await group.entered), leave }
      } catch (err) {
        leave()
        throw err
      }
    },
    async move(companyId, work) {
      const startedAt = performance.now()
      const moveAlone = () =>
        withTransaction(pool, async (db) => {
          const leftMs = Math.max(1, leaseWaitMs - (performance.now() - startedAt))
          await db.query(WAIT_AT_MOST, [`${Math.ceil(leftMs)}ms`])
          await db.query(TAKE_ALONE, [companyId]).catch((err: unknown) => {
            throw isLockTimeout(err) ? isHeld(err) : err
          })
          await db.query(WAIT_AT_MOST, ['0'])
          const world = await readWorld(db, 'look-at-world', LOOK, companyId)
          await db.query(GO_INTO, [world.namespaceId])
          return work(db, world)
        })
      return moving.run(moveAlone, { tenant: companyId })
    },
  }
}

/** A semaphore with a limit for each company and none for all. */
const ofEachCompany = (atOnceOfOne: number, waitMs: number, rejection: () => Error): FairSemaphore =>
  new FairSemaphore({
    atOnce: Infinity,
    atOnceOfOne,
    waitingMax: Infinity,
    waitMs,
    rejection: () => rejection(),
  })

const areInside = (): DomainError =>
  new DomainError('overloaded', 'too many writing requests of this company are unfinished: try again')

const isHeld = (cause?: unknown): DomainError =>
  new DomainError(
    'overloaded',
    'another request of this company that writes does not end: nothing was changed, try again',
    { cause },
  )

/** Requests that entered a company's world together, on one connection. */
interface LeaseGroup {
  entered: Promise<World>
  holders: Set<{ onLost: () => void }>
  /** Whether one more request may enter. The time for this is limited, or a waiting move might never get its turn. */
  isOpen(): boolean
  /** Gives the connection back once the last request has left. */
  end(): void
}

function beginGroup(pool: Pool, entering: FairSemaphore, companyId: string): LeaseGroup {
  const holders: LeaseGroup['holders'] = new Set()
  let db: PoolClient | undefined
  let releaseEntering: (() => void) | undefined
  let openUntil = Infinity
  let isOver = false
  const lose = () => {
    openUntil = -Infinity
    for (const { onLost } of holders) onLost()
  }
  const release = (err?: Error) => {
    for (const event of ['error', 'end'] as const) db?.off(event, lose)
    db?.release(err) // on an error the connection is closed, and its lock ends
    db = undefined
    releaseEntering?.()
    releaseEntering = undefined
  }
  const enter = async (): Promise<World> => {
    try {
      releaseEntering = await entering.acquire({ tenant: companyId })
      db = await pool.connect()
      if (isOver) throw new Error('no request waits for this world any more')
      for (const event of ['error', 'end'] as const) db.on(event, lose)
      const world = await readWorld(db, 'enter-world', ENTER, companyId)
      openUntil = Math.min(openUntil, performance.now() + TOGETHER_MS)
      return world
    } catch (err) {
      openUntil = -Infinity
      release(asError(err))
      throw err
    }
  }
  return {
    entered: enter(),
    holders,
    isOpen: () => performance.now() < openUntil,
    end() {
      isOver = true // if no connection is there yet, enter() gives up; otherwise LEAVE is sent after ENTER
      db?.query<{ was_inside: boolean }>(LEAVE, [companyId]).then(
        ({ rows }) => {
          release(rows[0]?.was_inside === true ? undefined : new Error('the lock was lost'))
        },
        (err: unknown) => {
          release(asError(err))
        },
      )
    },
  }
}

const asError = (err: unknown): Error => (err instanceof Error ? err : new Error(String(err)))

interface WorldRow {
  namespace_id: string
  ahead_ms: string
}

async function readWorld(db: Queryable, name: string, text: string, companyId: string): Promise<World> {
  const { rows } = await db.query<WorldRow>({ name, text, values: [companyId] })
  const [row] = rows
  if (row === undefined) throw new Error('this company has no namespace')
  return { namespaceId: row.namespace_id, aheadMs: Number(row.ahead_ms) }
}
