import type { Transport } from './transport.ts'

/** A request that a memory transport got. */
export interface MemoryRequest {
  method: string
  /** Without the query: `/v2/accounts`. */
  path: string
  query: Readonly<Record<string, string>>
  /** Names in lower case. The key is left out. */
  headers: Readonly<Record<string, string>>
  /** The JSON of the body; undefined when there is none. */
  body: unknown
}

export interface MemoryAnswer {
  /** 200 when it is left out, or 202 for reports and corrections. */
  status?: number
  headers?: Readonly<Record<string, string>>
  /** An object becomes JSON, a text stays as it is. Errors of Tally are text. */
  body?: unknown
}

export interface MemoryTransport extends Transport {
  /** All requests so far, in order. */
  readonly requests: readonly MemoryRequest[]
}

/**
 * Makes a transport for unit tests, which sends nothing.
 *
 * @param answer gives the answer of each request. What it throws is a failed connection
 */
export function memoryTransport(
  answer: (request: MemoryRequest) => MemoryAnswer | Promise<MemoryAnswer>,
): MemoryTransport {
  const requests: MemoryRequest[] = []
  return {
    requests,
    async send({ method, url, headers: sent, body }) {
      const { pathname, searchParams } = new URL(url)
      const headers = Object.fromEntries(Object.entries(sent).filter(([name]) => name !== 'x-api-key'))
      const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : body
      const request = {
        method,
        path: decodeURIComponent(pathname),
        query: Object.fromEntries(searchParams),
        headers,
        body: text === undefined ? undefined : (JSON.parse(text) as unknown),
      }
      requests.push(request)
      const given = await answer(request)
      const status = given.status ?? (isReport(request) ? 202 : 200)
      const content = given.body ?? (status < 400 ? {} : status === 404 ? 'not found' : '')
      const isText = typeof content === 'string'
      return {
        status,
        headers: {
          'content-type': isText ? 'text/plain' : 'application/json',
          ...Object.fromEntries(
            Object.entries(given.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
          ),
        },
        text: isText ? content : JSON.stringify(content),
      }
    },
  }
}

const isReport = ({ method, path }: MemoryRequest): boolean =>
  method !== 'GET' && path.startsWith('/v2/events')
