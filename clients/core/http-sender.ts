import http, { type IncomingMessage, type RequestOptions } from 'node:http'
import https from 'node:https'

export interface HttpRequest {
  method: 'GET' | 'POST'
  /** The path below the base URL, with its query: `/v2/metrics?limit=100`. */
  path: string
  /** JSON text. */
  body?: string
  headers?: Record<string, string>
}

export interface HttpAnswer {
  status: number
  text: string
  /** The header as it was received. */
  retryAfter: string | undefined
}

/** Sends requests over connections that stay open. */
export interface HttpSender {
  /** @throws Error when no complete answer was received; the request may have been carried out */
  send(request: HttpRequest): Promise<HttpAnswer>
  close(): void
}

export interface HttpSenderOptions {
  baseUrl: URL
  apiKey: string
  /** How many connections may be open at the same time. */
  connectionsMax: number
  /** How long one request may take. */
  timeoutMs: number
}

const ANSWER_BYTES_MAX = 16 * 1_024 * 1_024

/**
 * Why node:http and not fetch: a request takes much less processor time, which a Tally on the same machine can use.
 * Also, node:http sends the path unchanged. fetch resolves `..`, so a path that ends in the external id `..` would
 * become another path.
 */
export function httpSender({ baseUrl, apiKey, connectionsMax, timeoutMs }: HttpSenderOptions): HttpSender {
  const { request, Agent } = baseUrl.protocol === 'https:' ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax, maxFreeSockets: connectionsMax })
  const prefix = baseUrl.pathname.replace(/\/$/, '')
  const target: RequestOptions = {
    hostname: baseUrl.hostname.replace(/^\[|\]$/g, ''), // an IPv6 address has brackets only in a URL
    port: baseUrl.port,
    agent,
  }
  return {
    send: ({ method, path, body, headers }) =>
      new Promise((resolve, reject) => {
        const bytes = body === undefined ? undefined : Buffer.from(body)
        const sent = request({
          ...target,
          method,
          path: prefix + path,
          headers: {
            'x-api-key': apiKey,
            ...(bytes && { 'Content-Type': 'application/json', 'Content-Length': bytes.length }),
            ...headers,
          },
        })
        const timer = setTimeout(() => {
          sent.destroy(new Error(`no answer within ${timeoutMs / 1_000} s`))
        }, timeoutMs)
        sent.on('error', reject)
        sent.on('response', (response) => {
          collect(response).then(resolve, reject)
        })
        sent.on('close', () => {
          clearTimeout(timer)
        })
        sent.end(bytes)
      }),
    close: () => {
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
    retryAfter: response.headers['retry-after'],
  }
}
