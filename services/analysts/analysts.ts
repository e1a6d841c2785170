import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { FairSemaphore } from '../../shared/batching/fair-semaphore.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import { expectHangingThread } from '../../shared/lifecycle/exit-with.ts'
import { AnalystEngine, type AnalystEngineOptions, QUICK_AT_ONCE } from './analyst-engine.ts'
import type { AnalystScope } from './analyst-scope.ts'
import type { EndpointUser, SendAnswer } from './endpoint-user.ts'
import { ClickHouseException } from './exception.ts'
import type { QueryRequest } from './query-request.ts'
import { type PlaceRequest, type UnsentPlaces, unsentPlaces } from './unsent-places.ts'

export interface AnalystsOptions extends AnalystEngineOptions {
  /** How many queries may wait. */
  waitingMax: number
  /** How many queries of one analyst may wait. */
  waitingMaxOfOne: number
  /** How long a client may take nothing of a long answer while others wait. Default: ten seconds. */
  stalledMs?: number
}

/** Somebody who queries. */
interface Analyst {
  /** Unique. Queries of one name take turns with those of other names. */
  name: string
  scope: AnalystScope
  /** The company that the scope shows; undefined: all of them. */
  company?: string
}

/** Serves all analysts. */
export interface Analysts extends Closeable {
  userOf(analyst: Analyst): EndpointUser
  /** Ends the queries of an analyst that wait or run. */
  endQueriesOf(name: string): void
  /** How many queries wait for their turn now. */
  waiting: () => number
}

/** The largest body of a query. */
const BODY_BYTES_MAX = 256 * 1_024
/** The user who sees all companies. */
export const USER_OF_ALL = 'analyst'
/** Drivers name this database unless they are given another one; here it is the analysts' own. */
const DEFAULT_DATABASE = 'default'
const COMMENT = 'analyst:'
/** Long queries and their answers, of which each may take FILE_BYTES_MAX on disk until it is sent. */
const UNSENT = { atOnce: 12, atOnceOfCompany: 4, atOnceOfOne: 3 }
const KILL_EVERY_MS = 50
/** How long closing waits for queries: some functions of the engine check no limit before they are done. */
const CLOSE_MS = 2_000

/**
 * Serves the analysts: one judged SELECT a request, a limited number at once, by turns. A query ends when its client
 * disconnects.
 */
export async function openAnalysts({
  waitingMax,
  waitingMaxOfOne,
  stalledMs,
  ...options
}: AnalystsOptions): Promise<Analysts> {
  const { connections, limits } = options
  const engine = await AnalystEngine.open(options)
  const waitMs = limits.timeoutS * 1_000
  const line = (atOnce: number, atOnceOfOne = atOnce) =>
    new FairSemaphore({
      atOnce,
      atOnceOfOne,
      waitingMax,
      waitingMaxOfOne,
      waitMs,
      rejection,
    })
  // One analyst never has all connections, if there are several.
  const [quick, long] = [line(QUICK_AT_ONCE), line(connections, Math.max(1, connections - 1))]
  const unsent = unsentPlaces({ ...UNSENT, waitingMax, waitingMaxOfOne, waitMs, rejection }, stalledMs)
  const running = queriesByName()
  const answerAs =
    (analyst: Analyst): EndpointUser['answer'] =>
    async (request, gone, send) => {
      requireDatabase(request, analyst.scope.database)
      const { ended, cut, forget } = running.add(analyst.name, request.queryId)
      const signal = AbortSignal.any([gone, ended])
      const comment = `${COMMENT}${randomUUID()}`
      const kill = () => engine.kill(comment).catch(() => undefined) // if this fails, the query's time limit ends it
      const turn = { signal, tenant: analyst.name }
      try {
        const endQueries = (queryId: string) => running.end(analyst.name, isKilled, queryId)
        const query = engine.begin(request, comment, endQueries, analyst)
        // Each query begins with a quick attempt, so that a short query never waits for long ones.
        const soon = await quick.run(() => killedWhenGone(() => query.answerQuickly(), kill, signal), turn)
        if (soon !== undefined) await send(soon)
        else
          await unsent.run(
            async (delivery) => {
              const sendTo: SendAnswer = (answer) => send({ ...answer, delivery })
              const { sent } = await long.run(
                () => killedWhenGone(() => query.answer(sendTo), kill, signal),
                turn,
              )
              // From here on, a client that reads slowly holds up nobody's query.
              await Promise.race([sent, once(ended, 'abort')])
              ended.throwIfAborted()
            },
            { ...analyst, company: analyst.company, signal, cut },
          )
      } catch (err) {
        throw ended.aborted ? ended.reason : err
      } finally {
        forget()
      }
    }
  return {
    name: 'analysts of ClickHouse',
    userOf: (analyst) => ({
      user: analyst.name,
      ...(analyst.company === undefined ? {} : { company: analyst.company }),
      bodyBytesMax: BODY_BYTES_MAX,
      mayGet: true,
      answer: answerAs(analyst),
    }),
    endQueriesOf(name) {
      running.end(name, isRevoked)
    },
    waiting: () => quick.queued + long.queued + unsent.queued,
    close: () => endAll(engine, { quick, long, unsent }),
  }
}

/** Ends all queries, those that wait at once, and closes the engine. */
async function endAll(
  engine: AnalystEngine,
  { quick, long, unsent }: Record<'quick' | 'long', FairSemaphore> & { unsent: UnsentPlaces },
): Promise<void> {
  for (const line of [quick, long, unsent]) line.close()
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
}

const rejection = (reason: string) =>
  new ClickHouseException('TOO_MANY_SIMULTANEOUS_QUERIES', `Too many simultaneous queries: ${reason}.`)
const isKilled = () => new ClickHouseException('QUERY_WAS_CANCELLED', 'the query was killed.')
const isRevoked = () =>
  new ClickHouseException('AUTHENTICATION_FAILED', 'this user was revoked while the query ran.')

/** The queries that wait or run, by the analyst's name and the ids that clients gave; several may have the same. */
function queriesByName() {
  const byName = new Map<string, Set<{ queryId: string; controller: AbortController }>>()
  return {
    add(name: string, queryId: string): { ended: AbortSignal; cut: PlaceRequest['cut']; forget: () => void } {
      const controller = new AbortController()
      const own = byName.get(name) ?? new Set()
      const query = { queryId, controller }
      byName.set(name, own.add(query))
      const forget = () => {
        own.delete(query)
        if (own.size === 0) byName.delete(name)
      }
      const cut = (reason: ClickHouseException) => {
        controller.abort(reason)
      }
      return { ended: controller.signal, cut, forget }
    },
    /**
     * Ends the queries of a name, all of them or those with an id.
     *
     * @param reason makes the error that they are answered with
     * @returns how many there were
     */
    end(name: string, reason: () => ClickHouseException, queryId?: string): number {
      const found = [...(byName.get(name) ?? [])].filter(
        (one) => queryId === undefined || one.queryId === queryId,
      )
      for (const { controller } of found) controller.abort(reason())
      return found.length
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
