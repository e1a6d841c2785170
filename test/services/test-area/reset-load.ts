import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { ApiClient } from '../../support/api-client.ts'
import { until } from '../../support/until.ts'

/** The targets of a company's requests: each reporter uses the next gateway, each reader the next API. */
export interface ResetPlaces {
  key: string
  gateways: readonly string[]
  apis: readonly string[]
}

/** A company between two resets. */
interface Life {
  account: string
  currency: string
  /** Events that were acknowledged, and events without an answer. */
  acknowledged: string[]
  hasUnknown: boolean
  isOver: boolean
}

const EXTERNAL_ID = 'the same in every life'
const LISTS = ['customers', 'accounts', 'metrics', 'grants', 'refill-configurations', 'events', 'currencies']

/**
 * Resets a company repeatedly while all kinds of reporters and readers run, and checks their answers against the
 * promises of reset.
 */
export class ResetLoad {
  private readonly places: ResetPlaces
  private readonly clients: readonly ApiClient[]
  private life: Life | undefined
  private going = true
  private reports = 0
  private lives = 0
  /** Promises that were broken. */
  readonly broken: string[] = []
  /** The number of events that were acknowledged in all lives. */
  acknowledged = 0

  constructor(places: ResetPlaces) {
    this.places = places
    this.clients = places.apis.map((url) => new ApiClient(url, places.key))
  }

  /** @param resets the number of resets; a life of about lifeMs follows each */
  async run(resets: number, lifeMs: number): Promise<void> {
    await this.resetAndLookForNothing()
    await this.begin()
    const kinds = [single, batch, keyedBatch, slowBatch, unusual]
    const busy = [...kinds, ...kinds].map((kind, n) => this.reportOn(kind, n))
    busy.push(this.read(), this.read())
    for (let n = 0; n < resets; n++) {
      await sleep(lifeMs)
      await this.resetAndLookForNothing()
      await this.begin()
    }
    await sleep(lifeMs)
    this.going = false
    await Promise.all(busy)
    await this.lookForExactlyWhatIsThere()
  }

  private client(): ApiClient {
    return this.clients[Math.floor(Math.random() * this.clients.length)] as ApiClient
  }

  /** Uses the external id, the Idempotency-Keys and the event keys of the life before. */
  private async begin(): Promise<void> {
    const { id } = await this.client().create<{ id: string }>(
      '/v2/accounts',
      { name: 'a', external_id: EXTERNAL_ID },
      { headers: { 'Idempotency-Key': 'account' } },
    )
    const currency = `zz${'abcdefghijklmnopqrstuvwxyz'[this.lives++] ?? 'a'}`
    this.life = { account: id, currency, acknowledged: [], hasUnknown: false, isOver: false }
  }

  private async resetAndLookForNothing(): Promise<void> {
    const { life } = this
    const answer = await until(async () => {
      const answer = await this.client().post('/v2/test/reset', {})
      if (answer.status === 503 && this.life === life) return false
      return answer
    })
    expect(answer.status, answer.text).to.equal(200)
    // Data that arrived before the answer are already in this process, and are handled in this turn or the next.
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    if (life !== undefined) life.isOver = true
    this.life = undefined
    await Promise.all(
      this.clients.flatMap((client) =>
        LISTS.map(async (list) => {
          const { body } = await client.get<{ data: unknown[] }>(`/v2/${list}`)
          if (body.data.length > 0) this.broken.push(`after a reset ${list} are ${JSON.stringify(body.data)}`)
        }),
      ),
    )
    if (life === undefined) return
    for (const client of this.clients) {
      const gone = await client.get(`/v2/accounts/${life.account}`)
      if (gone.status !== 404) this.broken.push('after a reset an account can be found')
    }
  }

  private async reportOn(send: Send, n: number): Promise<void> {
    const { gateways, key } = this.places
    const url = gateways[n % gateways.length] as string
    while (this.going) {
      const { life } = this
      if (life === undefined) {
        await sleep(1)
        continue
      }
      const { account, currency } = life
      const name = `${n}-${life.acknowledged.length}-${this.reports++}`
      const answer = await send(url, key, { account, currency, name }).catch(() => undefined)
      if (answer?.status === 202) {
        life.acknowledged.push(...answer.eventIds)
        this.acknowledged += answer.eventIds.length
        if (life.isOver) this.broken.push(`${send.name}: acknowledged after the reset that it is gone with`)
      } else if (answer === undefined || answer.status >= 500) {
        life.hasUnknown = true
        await sleep(20)
      } else if (!life.isOver && this.life === life && ![404, 422].includes(answer.status))
        this.broken.push(`${send.name} was answered ${answer.status}: ${answer.text}`)
    }
  }

  /** Reads all it can at random times, and finds nothing of an earlier life. */
  private async read(): Promise<void> {
    while (this.going) {
      const { life } = this
      if (life !== undefined) {
        const client = this.client()
        const [events, currencies] = await Promise.all([
          client.get<SchemaOf<'UsageEventPage'>>('/v2/events'),
          client.get<SchemaOf<'CurrencyPage'>>('/v2/currencies'),
        ])
        if (this.life === life) {
          const strange = events.body.data.filter(({ account_id: account }) => account !== life.account)
          if (strange.length > 0) this.broken.push('events of an earlier life are listed')
          if (currencies.body.data.some(({ currency }) => currency !== life.currency))
            this.broken.push('a currency of an earlier life is listed')
        }
      }
      await sleep(20)
    }
  }

  private async lookForExactlyWhatIsThere(): Promise<void> {
    const { life } = this
    const [api] = this.clients
    if (life === undefined || api === undefined) throw new Error('there was no last life')
    await until(async () => (await api.post('/v2/test/drain', { timeout: 25 })).status === 200, 60_000)
    const { body } = await api.get<SchemaOf<'AccountUsage'>>(
      `/v2/accounts/${life.account}/usage?start_at=0&end_at=4294967295&aggregation=count`,
    )
    const [line, ...others] = body.events_consumed
    const wanted = new Set(life.acknowledged).size
    const counted = Number(line?.quantity ?? 0)
    if (counted < wanted || (counted > wanted && !life.hasUnknown) || others.length > 0)
      this.broken.push(
        `${wanted} events were acknowledged, ${JSON.stringify(body.events_consumed)} are counted`,
      )
    const listed: string[] = []
    await until(async () => {
      const after = listed.length === 0 ? '' : `&starting_after=${listed.at(-1) ?? ''}`
      const page = await api.get<SchemaOf<'UsageEventPage'>>(`/v2/events?limit=100${after}`)
      listed.push(...page.body.data.map(({ id }) => id))
      if (page.body.data.some(({ account_id: account }) => account !== life.account))
        this.broken.push('events of an earlier life are listed')
      return listed.length >= counted
    }, 60_000)
    if (new Set(listed).size !== listed.length) this.broken.push('an event is listed twice')
    if (life.acknowledged.some((id) => !listed.includes(id)))
      this.broken.push('an acknowledged event is not listed')
  }
}

interface ToReport {
  account: string
  currency: string
  name: string
}

interface Heard {
  status: number
  text: string
  eventIds: string[]
}

type Send = (url: string, key: string, what: ToReport) => Promise<Heard>

const DELAY_MS = 150
const OCCURRED_AT = Math.floor(Date.now() / 1_000) - 3_600

const eventOf = ({ account, currency }: ToReport) => ({ account_id: account, currency, quantity: '1' })

const single: Send = (url, key, what) =>
  sendBytes(`${url}/v2/events`, headersOf(key), JSON.stringify(eventOf(what)))

const batch: Send = (url, key, what) =>
  sendBytes(
    `${url}/v2/events/batch`,
    headersOf(key),
    JSON.stringify({ events: Array.from({ length: 50 }, () => eventOf(what)) }),
  )

const keyedBatch: Send = (url, key, what) =>
  sendBytes(
    `${url}/v2/events/batch`,
    { ...headersOf(key), 'Idempotency-Key': what.name },
    JSON.stringify({
      events: Array.from({ length: 5 }, (_, n) => ({
        ...eventOf(what),
        occurred_at: OCCURRED_AT,
        idempotency_key: `${what.name}-${n}`,
      })),
    }),
  )

/** Sends its body slowly, so that the request may begin before a reset and be accepted after it. */
const slowBatch: Send = (url, key, what) =>
  sendBytes(
    `${url}/v2/events/batch`,
    headersOf(key),
    JSON.stringify({ events: Array.from({ length: 20 }, () => eventOf(what)) }),
    DELAY_MS,
  )

/** Sends a request that the fast handler does not accept. */
const unusual: Send = (url, key, what) =>
  sendBytes(
    `${url}/v2/events`,
    { ...headersOf(key), 'content-type': 'Application/JSON; charset=utf-8' },
    JSON.stringify({ ...eventOf(what), properties: { request: randomUUID() } }),
  )

const headersOf = (key: string) => ({ 'x-api-key': key, 'content-type': 'application/json' })

/** Sends bytes over a separate connection. */
async function sendBytes(
  url: string,
  headers: Record<string, string>,
  body: string,
  delayMs = 0,
): Promise<Heard> {
  const length = { 'content-length': String(Buffer.byteLength(body)) }
  const sending = request(url, { method: 'POST', headers: { ...headers, ...length }, agent: false })
  const answered = new Promise<Heard>((resolve, reject) => {
    sending.on('error', reject)
    sending.on('response', (response) => {
      buffer(response).then((bytes) => {
        const text = bytes.toString()
        const status = response.statusCode ?? 0
        const parsed = status === 202 ? (JSON.parse(text) as { id?: string; event_ids?: string[] }) : {}
        resolve({ status, text, eventIds: parsed.event_ids ?? [parsed.id ?? ''] })
      }, reject)
    })
  })
  if (delayMs > 0) {
    sending.write(body.slice(0, 10))
    await sleep(delayMs)
    sending.end(body.slice(10))
  } else sending.end(body)
  return answered
}
