import { hash } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Logger } from '../../shared/logging/logger.ts'
import type { RateLimits } from '../../shared/rate-limit/rate-limits.ts'
import type { AnalystMetrics } from './analyst-metrics.ts'
import { type Credentials, readCredentials, refusedUser } from './credentials.ts'
import type { EndpointUser, EndpointUsers, QueryAnswer } from './endpoint-user.ts'
import { ClickHouseException, exceptionOfEngine } from './exception.ts'
import { type PasswordGuesses, passwordGuesses } from './password-guesses.ts'
import { type QueryRequest, readQueryRequest } from './query-request.ts'
import { readPacking, replyAnswer, replyException, replyText, type ServerFacts } from './reply.ts'

export interface EndpointOptions {
  users: EndpointUsers
  facts: ServerFacts
  log: Logger
  metrics: AnalystMetrics
  /** How many wrong passwords for one name an address may try before it must wait. */
  limits: Pick<RateLimits, 'wrongPasswords' | 'addressOf'>
}

type Parts = EndpointOptions & { guesses: PasswordGuesses }

const NOT_FOUND = 'There is no handle here.\n\nUse / or /ping for health checks.\n'

/** Serves as much of ClickHouse's HTTP protocol as the drivers and tools in docs/guides/analysts.md need. */
export function clickHouseHttp(options: EndpointOptions): RequestListener {
  const parts = { ...options, guesses: passwordGuesses(options.limits.wrongPasswords) }
  return (req, res) => {
    handle(req, res, parts).catch((err: unknown) => {
      options.log.error({ err }, 'an answer could not be sent')
      res.destroy()
    })
  }
}

async function handle(req: IncomingMessage, res: ServerResponse, parts: Parts): Promise<void> {
  const { pathname, url } = splitTarget(req.url ?? '/')
  const isRead = req.method === 'GET' || req.method === 'HEAD'
  if (!isRead && req.method !== 'POST') {
    replyText(res, 405, `${req.method} is not allowed here\n`, { Allow: 'GET, HEAD, POST' })
    return
  }
  if (isRead && (pathname === '/ping' || (pathname === '/' && !url.has('query')))) {
    replyText(res, 200, 'Ok.\n')
    return
  }
  if (pathname !== '/') {
    replyText(res, 404, NOT_FOUND)
    return
  }
  await answerQuery(req, res, url, parts)
}

/** Why not `new URL`: it throws for some requests that a client may send, and takes `//x` for a host. */
function splitTarget(target: string): { pathname: string; url: URLSearchParams } {
  const mark = target.indexOf('?')
  const pathname = mark < 0 ? target : target.slice(0, mark)
  return { pathname, url: new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)) }
}

async function answerQuery(
  req: IncomingMessage,
  res: ServerResponse,
  url: URLSearchParams,
  parts: Parts,
): Promise<void> {
  const { facts, log, metrics } = parts
  const gone = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) gone.abort() // close also follows a complete answer
  })
  const startedAt = performance.now()
  const packing = readPacking(req, url)
  let user: EndpointUser | undefined
  let asked: QueryRequest | undefined
  const seen: { answer?: QueryAnswer; bytes: number } = { bytes: 0 }
  let code = 0
  const describeToClient = (err: unknown) => (gone.signal.aborted ? GONE : describe(err, log))
  try {
    const given = readCredentials(req.headers, url) // before the body is read
    user = await signIn(req, res, given, parts)
    if (req.method !== 'POST' && !user.mayGet)
      throw new ClickHouseException('BAD_ARGUMENTS', `${user.user} must send queries with POST.`)
    const request = await readQueryRequest(req, url, user.bodyBytesMax)
    // The body may have taken long to arrive, and the user may have been revoked in the meantime.
    if ((await parts.users.find(given)) === undefined) throw refusedUser(given)
    asked = request
    const { company } = user
    await user.answer(request, gone.signal, async (answer) => {
      seen.answer = answer
      const shown = company === undefined ? answer : withoutCounts(answer)
      seen.bytes = await replyAnswer(res, facts, packing, request.queryId, shown, describeToClient)
    })
    if (gone.signal.aborted) ({ code } = GONE)
  } catch (err) {
    const exception = describeToClient(err)
    ;({ code } = exception)
    if (res.headersSent) res.destroy()
    else if (exception !== GONE) await replyException(res, facts, packing, asked?.queryId, exception)
  }
  if (user === undefined || asked === undefined) return
  const ms = Math.round(performance.now() - startedAt)
  metrics.answered(user.user, code, ms / 1_000)
  log.info(
    {
      user: user.user,
      ...(user.company === undefined ? {} : { company: user.company }),
      ms,
      rows: seen.answer?.summary().resultRows ?? 0,
      bytes: seen.bytes,
      code,
      digest: digestOf(asked),
    },
    'a query was answered',
  )
}

/** @throws ClickHouseException when the password is wrong, or too many wrong ones were tried */
async function signIn(
  req: IncomingMessage,
  res: ServerResponse,
  given: Credentials,
  { users, guesses, limits }: Parts,
): Promise<EndpointUser> {
  const user = await users.find(given)
  const refusal = await guesses.refusalOf(limits.addressOf(req), given, user !== undefined)
  if (user !== undefined && refusal === undefined) return user
  for (const [name, value] of Object.entries(refusal?.headers ?? {})) res.setHeader(name, value)
  throw refusal?.exception ?? refusedUser(given)
}

const GONE = new ClickHouseException('QUERY_WAS_CANCELLED', 'the client has gone.')

/**
 * Removes from an answer how much was read. The engine counts rows of the tables, which have the usage of all
 * companies, and a company must not learn how much usage others have.
 */
const withoutCounts = (answer: QueryAnswer): QueryAnswer => ({
  ...answer,
  summary: () => ({ ...answer.summary(), resultRows: 0, resultBytes: 0 }),
})

/** Identifies a query in the log, which never has its text: `printf %s "$QUERY" | sha256sum | cut -c 1-16`. */
const digestOf = ({ urlQuery, body }: QueryRequest): string =>
  hash('sha256', Buffer.concat([Buffer.from(urlQuery), body]), 'hex').slice(0, 16)

function describe(err: unknown, log: Logger): ClickHouseException {
  if (err instanceof ClickHouseException) return err
  const exception = exceptionOfEngine(err)
  if (exception !== undefined) return exception
  log.error({ err }, 'a query could not be answered') // a bug: the log gets the error, the answer does not
  return new ClickHouseException('UNKNOWN_EXCEPTION', 'internal error.')
}
