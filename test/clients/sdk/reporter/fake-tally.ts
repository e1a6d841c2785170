import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Fate } from '../../../support/faulty-proxy.ts'

export interface FakeEvent {
  account_id: string
  metric_id?: string
  currency?: string
  quantity: string
  occurred_at: number
  idempotency_key: string
  properties?: Record<string, unknown>
}

export interface FakeTally {
  url: string
  /** The accepted events by identity. */
  counted: Map<string, FakeEvent>
  /** How many events were accepted, repeats as well. */
  received: number
  /** The bodies of all batches. */
  batches: FakeEvent[][]
  /** When each batch came, by `performance.now()`. */
  times: number[]
  paths: string[]
  /** By `accounts/external id`. */
  ids: Map<string, string>
  company: string
  fate: (n: number) => Fate | Promise<Fate>
  /** Why an event is refused. */
  fault: (event: FakeEvent) => string | undefined
  lookUpFate: () => Fate
  close(): Promise<void>
}

export const ACCOUNT = `account_${'a'.repeat(32)}`
export const METRIC = `metric_${'b'.repeat(32)}`

/** Starts a server that takes events as Tally does, so that reporters can be tested without engines. */
export async function fakeTally(): Promise<FakeTally> {
  const tally: FakeTally = {
    url: '',
    counted: new Map(),
    received: 0,
    batches: [],
    times: [],
    paths: [],
    ids: new Map(),
    company: 'company-1',
    fate: () => 'pass',
    fault: () => undefined,
    lookUpFate: () => 'pass',
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  const server = createServer((req, res) => {
    const answer = async () => {
      const text = Buffer.concat((await req.toArray()) as Buffer[]).toString()
      const path = req.url ?? ''
      tally.paths.push(path)
      const isBatch = path === '/v2/events/batch'
      if (isBatch) {
        tally.batches.push((JSON.parse(text) as { events: FakeEvent[] }).events)
        tally.times.push(performance.now())
      }
      const fate = isBatch ? await tally.fate(tally.batches.length - 1) : tally.lookUpFate()
      if (fate === 'cut before') return req.socket.destroy()
      if (typeof fate === 'object') return res.writeHead(fate.status, fate.headers).end(fate.body ?? '')
      const [status, body] = isBatch ? take(tally, text) : serve(tally, req.method ?? '', path, text)
      if (fate === 'cut after') return req.socket.destroy()
      return res
        .writeHead(status, { 'Content-Type': status < 300 ? 'application/json' : 'text/plain' })
        .end(body)
    }
    answer().catch(() => req.socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  tally.url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  return tally
}

const identityOf = (event: FakeEvent): string =>
  [event.account_id, event.metric_id ?? event.currency, event.occurred_at, event.idempotency_key].join(' ')

function take(tally: FakeTally, text: string): [number, string] {
  const { events } = JSON.parse(text) as { events: FakeEvent[] }
  const faults = events.flatMap((event, index) => {
    const why = 'account_external_id' in event ? 'account_external_id: unknown' : tally.fault(event)
    return why === undefined ? [] : [`events[${index}].${why}`]
  })
  if (faults.length > 0) return [422, faults.slice(0, 20).join('\n')]
  for (const event of events) tally.counted.set(identityOf(event), event)
  tally.received += events.length
  return [202, JSON.stringify({ accepted: events.length, event_ids: [] })]
}

function serve(tally: FakeTally, method: string, path: string, text: string): [number, string] {
  if (path === '/v2/caller') return [200, JSON.stringify({ company: { id: tally.company } })]
  if (method === 'POST' && path === '/v2/accounts') {
    const { external_id: externalId } = JSON.parse(text) as { external_id: string }
    tally.ids.set(`accounts/${externalId}`, ACCOUNT)
    return [200, JSON.stringify({ id: ACCOUNT })]
  }
  const [, kind = '', externalId = ''] = /^\/v2\/(\w+)\/external-id\/(.*)$/.exec(path) ?? []
  const id = tally.ids.get(`${kind}/${decodeURIComponent(externalId)}`)
  return id === undefined ? [404, 'not found'] : [200, JSON.stringify({ id })]
}
