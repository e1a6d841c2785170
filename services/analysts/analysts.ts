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
  /** For how long a client may read nothing of a long answer while other queries wait. Default: ten seconds. */
  stalledMs?: number
}

/** Someone who sends queries. */
interface Analyst {
  /** Unique. Queries of one name take turns with those of other names. */
  name: string
  scope: AnalystScope
  /** The company whose usage the scope has; undefined for all companies. */
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
/** Drivers name this database by default. Here, it means the analysts' own database. */
const DEFAULT_DATABASE = 'default'
const COMMENT = 'analyst:'
/**
 * How many long queries may have a place until their answers are sent. Until then, each answer may take FILE_BYTES_MAX
 * on disk.
 */
const UNSENT = { atOnce: 12, atOnceOfCompany: 4, atOnceOfOne: 3 }
const KILL_EVERY_MS = 50
/** How long closing waits until all queries have ended. Some functions of the engine check no limit while they run. */
const CLOSE_MS = 2_000

/**
 * Serves the analysts. A request runs one SELECT, after it was judged. The number of queries that run at the same time
 * is limited, and analysts take turns. A query ends when its client disconnects.
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
              // From here on, a client that reads slowly delays no other query.
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

/** Rejects the queries that wait, ends those that run, and closes the engine. */
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

/**
 * The queries that wait or run, by the analyst's name. Clients give queries their ids, so several may have the same id.
 */
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
     * Ends queries of an analyst: those with this id, or all if no id is given.
     *
     * @param reason makes the error that their clients get
     * @returns how many queries were ended
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

/**
 * Kills a query when the signal is aborted. Repeats this until the query has ended, because a kill does not reach a
 * query that is still being judged.
 */
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
    await ending // the process must not end while a connection works
  }
}

function requireDatabase({ database: asked }: QueryRequest, database: string): void {
  if (asked !== undefined && !['', DEFAULT_DATABASE, database].includes(asked))
    throw new ClickHouseException(
      'UNKNOWN_DATABASE',
      `Database ${asked} does not exist; analysts have ${database}.`,
    )
}
