import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Logger } from '../../shared/logging/logger.ts'
import { readCredentials, requireUser } from './credentials.ts'
import type { EndpointUser } from './endpoint-user.ts'
import { ClickHouseException, exceptionOfEngine } from './exception.ts'
import { readQueryRequest } from './query-request.ts'
import { replyAnswer, replyException, replyText, type ServerFacts } from './reply.ts'

export interface EndpointOptions {
  users: readonly EndpointUser[]
  facts: ServerFacts
  log: Logger
}

const NOT_FOUND = 'There is no handle here.\n\nUse / or /ping for health checks.\n'

/** Serves ClickHouse's HTTP protocol: what curl, @clickhouse/client and Grafana need of it. */
export function clickHouseHttp(options: EndpointOptions): RequestListener {
  return (req, res) => {
    handle(req, res, options).catch((err: unknown) => {
      options.log.error({ err }, 'an answer could not be sent')
      res.destroy()
    })
  }
}

async function handle(req: IncomingMessage, res: ServerResponse, options: EndpointOptions): Promise<void> {
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
  await answerQuery(req, res, url, options)
}

/** Why by hand: `new URL` throws at some of what a client may send, and takes `//x` for a host. */
function splitTarget(target: string): { pathname: string; url: URLSearchParams } {
  const mark = target.indexOf('?')
  const pathname = mark < 0 ? target : target.slice(0, mark)
  return { pathname, url: new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)) }
}

async function answerQuery(
  req: IncomingMessage,
  res: ServerResponse,
  url: URLSearchParams,
  { users, facts, log }: EndpointOptions,
): Promise<void> {
  const gone = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) gone.abort() // an answer that was sent ends so too
  })
  let queryId: string | undefined
  try {
    const user = requireUser(users, readCredentials(req.headers, url)) // before anything of the body is read
    if (req.method !== 'POST' && !user.mayGet)
      throw new ClickHouseException('BAD_ARGUMENTS', `${user.user} sends queries with POST.`)
    const request = await readQueryRequest(req, url, user.bodyBytesMax)
    ;({ queryId } = request)
    await user.answer(request, gone.signal, (answer) => replyAnswer(req, res, facts, request.queryId, answer))
  } catch (err) {
    if (gone.signal.aborted) return
    replyException(res, facts, queryId, describe(err, log))
  }
}

function describe(err: unknown, log: Logger): ClickHouseException {
  if (err instanceof ClickHouseException) return err
  const exception = exceptionOfEngine(err)
  if (exception !== undefined) return exception
  log.error({ err }, 'a query could not be answered') // a bug: logged whole, told to nobody
  return new ClickHouseException('UNKNOWN_EXCEPTION', 'internal error.')
}
