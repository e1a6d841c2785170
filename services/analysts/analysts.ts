import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { FairSemaphore } from '../../shared/batching/fair-semaphore.ts'
import { analyticsDatabase } from '../../shared/clickhouse/analytics-database.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import { expectHangingThread } from '../../shared/lifecycle/exit-with.ts'
import { AnalystEngine, type AnalystEngineOptions, QUICK_AT_ONCE } from './analyst-engine.ts'
import type { EndpointUser } from './endpoint-user.ts'
import { ClickHouseException } from './exception.ts'
import type { QueryRequest } from './query-request.ts'

export interface AnalystsOptions extends AnalystEngineOptions {
  password: string
  /** How many queries may wait. */
  waitingMax: number
}

/** The endpoint's user, in whose name all analysts query. */
export interface Analysts extends EndpointUser, Closeable {
  /** How many queries wait for their turn now. */
  waiting: () => number
}

/** The largest body of a query. */
const BODY_BYTES_MAX = 256 * 1_024
const USER = 'analyst'
/** Drivers name this database unless they are given another one; here it is the analysts' own. */
const DEFAULT_DATABASE = 'default'
const COMMENT = 'analyst:'
/** Long queries and their answers, of which each may take FILE_BYTES_MAX on disk until it is sent. */
const UNSENT_AT_ONCE = 8
const UNSENT_OF_ONE = 4
const KILL_EVERY_MS = 50
/** How long closing waits for queries: some functions of the engine check no limit before they are done. */
const CLOSE_MS = 2_000

/**
 * Serves the analysts: one judged SELECT a request, a limited number at once. A query ends when its client disconnects.
 */
export async function openAnalysts({ password, waitingMax, ...options }: AnalystsOptions): Promise<Analysts> {
  const { connections, database, limits } = options
  const engine = await AnalystEngine.open(options)
  const line = (atOnce: number, atOnceOfOne = atOnce) =>
    new FairSemaphore({
      atOnce,
      atOnceOfOne,
      waitingMax,
      waitMs: limits.timeoutS * 1_000,
      rejection: (reason) =>
        new ClickHouseException('TOO_MANY_SIMULTANEOUS_QUERIES', `Too many simultaneous queries: ${reason}.`),
    })
  const [quick, long] = [line(QUICK_AT_ONCE), line(connections)]
  const unsent = line(UNSENT_AT_ONCE, UNSENT_OF_ONE)
  const running = queriesById()
  return {
    name: 'analysts of ClickHouse',
    user: USER,
    password,
    bodyBytesMax: BODY_BYTES_MAX,
    mayGet: true,
    waiting: () => quick.queued + long.queued + unsent.queued,
    async answer(request, gone, send) {
      requireDatabase(request, analyticsDatabase(database))
      const { ended, forget } = running.add(request.queryId)
      const signal = AbortSignal.any([gone, ended])
      const comment = `${COMMENT}${randomUUID()}`
      const kill = () => engine.kill(comment).catch(() => undefined) // if this fails, the query's time limit ends it
      const turn = { signal, tenant: USER }
      try {
        const query = engine.begin(request, comment, (queryId) => running.end(queryId))
        // Each query begins with a quick attempt, so that a short query never waits for long ones.
        const soon = await quick.run(() => killedWhenGone(() => query.answerQuickly(), kill, signal), turn)
        if (soon !== undefined) await send(soon)
        else
          await unsent.run(async () => {
            const { sent } = await long.run(
              () => killedWhenGone(() => query.answer(send), kill, signal),
              turn,
            )
            // From here on, a client that reads slowly holds up nobody's query.
            await Promise.race([sent, once(ended, 'abort')])
            ended.throwIfAborted()
          }, turn)
      } catch (err) {
        throw ended.aborted ? ended.reason : err
      } finally {
        forget()
      }
    },
    async close() {
      quick.close()
      long.close()
      unsent.close()
      const deadline = performance.now() + CLOSE_MS
      while (quick.atWork + long.atWork > 0) {
        if (performance.now() > deadline) {
          expectHangingThread()
          throw new Error('a query of an analyst cannot be ended')
        }
        await engine.kill(COMMENT)
        await sleep(KILL_EVERY_MS)
      }
      engine.close()
    },
  }
}

/** The queries that wait or run, by the ids that clients gave them; several may have the same. */
function queriesById() {
  const byId = new Map<string, Set<AbortController>>()
  return {
    add(queryId: string): { ended: AbortSignal; forget: () => void } {
      const controller = new AbortController()
      const same = byId.get(queryId) ?? new Set()
      byId.set(queryId, same.add(controller))
      const forget = () => {
        same.delete(controller)
        if (same.size === 0) byId.delete(queryId)
      }
      return { ended: controller.signal, forget }
    },
    /** @returns how many there were */
    end(queryId: string): number {
      const found = byId.get(queryId) ?? new Set()
      for (const controller of found)
        controller.abort(new ClickHouseException('QUERY_WAS_CANCELLED', 'the query was killed.'))
      return found.size
    },
  }
}

/** Kills a query after the abort, repeatedly until it has ended: a kill misses a query that is still being judged. */
async function killedWhenGone<T>(
  query: () => Promise<T>,
  kill: () => Promise<void>,
  signal: AbortSignal,
): Promise<T> {
  let isOver = false
  const end = async () => {
    while (!isOver) {
      await kill()
      await sleep(KILL_EVERY_MS)
    }
  }
  let ending: Promise<void> | undefined
  const begin = () => {
    ending = end()
  }
  signal.addEventListener('abort', begin)
  try {
    return await query()
  } finally {
    isOver = true
    signal.removeEventListener('abort', begin)
    await ending // the process must not end while a connection is at work
  }
}

function requireDatabase({ database: asked }: QueryRequest, database: string): void {
  if (asked !== undefined && !['', DEFAULT_DATABASE, database].includes(asked))
    throw new ClickHouseException(
      'UNKNOWN_DATABASE',
      `Database ${asked} does not exist; analysts have ${database}.`,
    )
}
