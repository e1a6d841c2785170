import { httpSender } from '../clients/core/http-sender.ts'
import type { Ask } from '../clients/core/reporting-client.ts'

/** Asks one Tally over kept-alive connections, and takes nothing but success for an answer. */
export interface TallyClient {
  ask: Ask
  /** @throws Error when anything but a 200 is answered */
  get<Body>(path: string): Promise<Body>
  /** @throws Error when anything but a 200 is answered */
  create<Body>(path: string, body: object): Promise<Body>
  close(): void
}

const TIMEOUT_MS = 60_000

/** @param connections requests at once; more wait */
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
