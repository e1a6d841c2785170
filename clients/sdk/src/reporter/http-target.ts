import http, { type IncomingMessage, type RequestOptions } from 'node:http'
import https from 'node:https'
import type { HttpAnswer } from './core/answers.ts'
import type { ReporterTarget } from './target.ts'

export interface HttpTargetOptions {
  url: string
  apiKey: string
  /** How long a request may take, with its answer; default: 35 s. */
  timeoutMs?: number
  maxSockets?: number
}

const TIMEOUT_MS = 35_000
const SOCKETS_MAX = 16
/** A connection that was not used for longer may have been closed by the other side. */
const FREE_SOCKET_MS = 4_000
const ANSWER_BYTES_MAX = 16 * 1_024 * 1_024

/** Reports over `node:http` or `node:https`. */
export function httpTarget({
  url,
  apiKey,
  timeoutMs = TIMEOUT_MS,
  maxSockets = SOCKETS_MAX,
}: HttpTargetOptions): ReporterTarget {
  const base = new URL(url)
  const { request, Agent } = base.protocol === 'https:' ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets, timeout: FREE_SOCKET_MS })
  const target: RequestOptions = {
    hostname: base.hostname.replace(/^\[|\]$/g, ''), // an IPv6 address has brackets only in a URL
    port: base.port,
    agent,
  }
  const prefix = base.pathname.replace(/\/$/, '')
  const open = new Set<http.ClientRequest>()

  const ask = (method: string, path: string, body?: Uint8Array): Promise<HttpAnswer> =>
    new Promise((resolve, reject) => {
      const headers = {
        'x-api-key': apiKey,
        ...(body && { 'Content-Type': 'application/json', 'Content-Length': body.length }),
      }
      const sent = request({ ...target, method, path: prefix + path, headers })
      open.add(sent)
      const timer = setTimeout(() => {
        sent.destroy(new Error(`no answer within ${timeoutMs / 1_000} s`))
      }, timeoutMs)
      sent.on('error', reject)
      sent.on('response', (response) => {
        collect(response).then(resolve, reject)
      })
      sent.on('close', () => {
        open.delete(sent)
        clearTimeout(timer)
      })
      sent.end(body)
    })

  return {
    url,
    mode: apiKey.startsWith('tally_test_') ? 'test' : 'live',
    send: (body) => ask('POST', '/v2/events/batch', body),
    find: (kind, externalId) => ask('GET', `/v2/${kind}s/external-id/${encodeURIComponent(externalId)}`),
    createAccount: (externalId) =>
      ask('POST', '/v2/accounts', Buffer.from(JSON.stringify({ name: externalId, external_id: externalId }))),
    caller: () => ask('GET', '/v2/caller'),
    close: () => {
      for (const sent of open) sent.destroy(new Error('the reporter was closed'))
      agent.destroy()
    },
  }
}

async function collect(response: IncomingMessage): Promise<HttpAnswer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`the answer is larger than ${ANSWER_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return {
    status: response.statusCode ?? 0,
    text: Buffer.concat(chunks).toString(),
    contentType: response.headers['content-type'],
    retryAfter: response.headers['retry-after'],
    date: response.headers.date,
  }
}
