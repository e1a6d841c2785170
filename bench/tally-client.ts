import type { Ask } from '../clients/core/ask.ts'
import { Tally } from '../clients/sdk/src/node.ts'
import { httpTransport } from '../clients/sdk/src/node/http-transport.ts'

/** Sends requests to one Tally over kept-alive connections, each once. */
export interface TallyClient {
  ask: Ask
  /** @throws Error when the answer is not a success */
  get<Body>(path: string): Promise<Body>
  /** @throws Error when the answer is not a success */
  create<Body>(path: string, body: object): Promise<Body>
  close(): void
}

const TIMEOUT_MS = 60_000

/** @param connections the largest number of concurrent requests; further requests wait */
export function tallyClient({ url, key }: { url: string; key: string }, connections = 1): TallyClient {
  const transport = httpTransport(connections)
  const tally = new Tally({ url, apiKey: key, transport, timeoutMs: TIMEOUT_MS, maxRetries: 0 })
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const send = async (method: 'GET' | 'POST', path: string, body?: string): Promise<unknown> => {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const { status, text } = await transport.send({ method, url: url + path, headers, body, signal })
    if (status === 200 || status === 202) return JSON.parse(text)
    throw new Error(`${method} ${path} was answered with ${status}: ${text}`)
  }
  return {
    ask: (call) => Promise.resolve(call(tally)),
    get: async <Body>(path: string) => (await send('GET', path)) as Body,
    create: async <Body>(path: string, body: object) =>
      (await send('POST', path, JSON.stringify(body))) as Body,
    close: () => {
      tally.close()
    },
  }
}
