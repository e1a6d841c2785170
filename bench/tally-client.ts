import { httpSender } from '../clients/core/http-sender.ts'
import type { Ask } from '../clients/core/reporting-client.ts'

/** Sends requests to one Tally over kept-alive connections, and accepts only successes. */
export interface TallyClient {
  ask: Ask
  /** @throws Error when the answer is not a 200 */
  get<Body>(path: string): Promise<Body>
  /** @throws Error when the answer is not a 200 */
  create<Body>(path: string, body: object): Promise<Body>
  close(): void
}

const TIMEOUT_MS = 60_000

/** @param connections the largest number of concurrent requests; further requests wait */
export function tallyClient({ url, key }: { url: string; key: string }, connections = 1): TallyClient {
  const sender = httpSender({
    baseUrl: new URL(url),
    apiKey: key,
    connectionsMax: connections,
    timeoutMs: TIMEOUT_MS,
  })
  const ask: Ask = async (request) => {
    const answer = await sender.send(request)
    if (answer.status === 200 || answer.status === 202) return answer
    throw new Error(`${request.method} ${request.path} was answered with ${answer.status}: ${answer.text}`)
  }
  return {
    ask,
    get: async <Body>(path: string) => JSON.parse((await ask({ method: 'GET', path })).text) as Body,
    create: async <Body>(path: string, body: object) =>
      JSON.parse((await ask({ method: 'POST', path, body: JSON.stringify(body) })).text) as Body,
    close: () => {
      sender.close()
    },
  }
}
