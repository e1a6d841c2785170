import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Random, randomInteger, seededRandom } from '../../clients/reporter/simulate/seeded-random.ts'
import { textOf } from '../support/decimal-units.ts'
import { turned } from '../support/turned-json.ts'

/** The outcome of an event, from the reporter's point of view. */
type Outcome = 'unknown' | 'acknowledged' | 'refused'

/** An event that was reported at least once. */
export interface LedgerEvent {
  account: string
  source: string
  /** The reported or last corrected quantity. */
  quantity: string
  outcome: Outcome
  /** Known from the first answer on. */
  id?: string
  isVoid?: boolean
  /** Set while a reporter corrects the event, because the ledger must know the order of corrections. */
  isTaken?: boolean
}

/** A request, which may be sent several times. */
interface Request {
  method: 'POST' | 'PATCH'
  path: string
  body: object
  /** The Idempotency-Key header; undefined if the events have their own keys. */
  key: string | undefined
  /** The numbers of its events in the ledger. */
  numbers: number[]
  /** Whether Tally must refuse it. */
  isBad: boolean
  /** The changes of a correction, in the order of its events. */
  changes?: Pick<LedgerEvent, 'quantity' | 'isVoid'>[]
}

/** An attempt to send a request, with its answer if there was one. */
export interface Attempt {
  /** Undefined when the connection was cut. */
  status: number | undefined
  retryAfter: string | undefined
  ms: number
  /** The time of its end, by performance.now(). */
  at: number
  /** Whether the request has one event. These are usually the fastest. */
  isSingle: boolean
}

export interface LedgerOptions {
  /** Returns the target of reports, at each attempt. */
  url: () => string
  key: string
  accounts: readonly string[]
  /** Metric ids and currencies. */
  sources: readonly string[]
  seed: string
  workers: number
  /** The largest number of events in a batch. */
  batchMax: number
  /** The share of requests that correct acknowledged events. */
  corrects?: number
  /** Usage occurred at most this many seconds ago; default: 30 days. */
  spanS?: number
  /** The pause between the requests of a worker; default: none. */
  pauseMs?: number
}

/** An attempt that takes longer counts as a cut connection. */
const ATTEMPT_MS = 40_000
const BACK_OFF_MS = { first: 20, longest: 500 }
/** The time after which a reporter no longer repeats a request, and the run fails. */
const GIVE_UP_MS = 120_000
const RECENT_MAX = 400
/** The largest number of events in a correction. */
const CORRECTED_MAX = 5
const SPAN_S = 30 * 86_400
/** Some usage is in two days of long ago, which are also stored in another form. */
const HISTORY = { share: 0.1, agoS: 45 * 86_400, spanS: 2 * 86_400 }

/**
 * Reporters with a ledger. Several workers send events with random exact quantities, alone and in batches. They send
 * some events again in other requests, and after a failure the same request until it is answered, as the contract
 * requires of clients. The ledger has the outcome of each event.
 */
export class Ledger {
  readonly events: LedgerEvent[] = []
  readonly attempts: Attempt[] = []
  /** Answers that should never occur. */
  readonly surprises: string[] = []
  private readonly options: LedgerOptions
  private readonly run: string
  private readonly now = Math.floor(Date.now() / 1_000)
  private running = false
  private workers: Promise<void>[] = []
  /** Bodies of events with their own keys, which may be sent again in any batch. */
  private recent: { number: number; body: object }[] = []
  private requests = 0

  constructor(options: LedgerOptions) {
    this.options = options
    this.run = createHash('sha256').update(`${options.seed} ${Date.now()}`).digest('hex').slice(0, 12)
  }

  start(): void {
    this.running = true
    this.workers = Array.from({ length: this.options.workers }, (_, n) =>
      this.work(seededRandom(`${this.options.seed}, worker ${n}`)),
    )
  }

  /** Waits until every worker has finished its request. */
  async stop(): Promise<void> {
    this.running = false
    await Promise.all(this.workers)
  }

  /** Lets the workers run while some work is done. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.start()
    try {
      return await work()
    } finally {
      await this.stop()
    }
  }

  count(outcome: Outcome): number {
    return this.events.reduce((sum, event) => sum + (event.outcome === outcome ? 1 : 0), 0)
  }

  private isRunning(): boolean {
    return this.running
  }

  private async work(random: Random): Promise<void> {
    let last: Request | undefined
    while (this.isRunning()) {
      // Some requests are sent again, although they were answered.
      const repeats = last !== undefined && random() < 0.1
      const correction = random() < (this.options.corrects ?? 0) ? this.makeCorrection(random) : undefined
      const request = repeats && last !== undefined ? last : (correction ?? this.makeRequest(random))
      if (request !== correction) this.letGo(correction)
      await this.bringThrough(request)
      this.letGo(request)
      // Another worker may have corrected its events since.
      last = request.changes === undefined ? request : undefined
      if (this.options.pauseMs !== undefined) await sleep(this.options.pauseMs * (0.5 + random()))
    }
  }

  /** Makes a correction of one or several events; undefined while no event can be corrected. */
  private makeCorrection(random: Random): Request | undefined {
    const wanted = random() < 0.7 ? 1 : 1 + randomInteger(random, CORRECTED_MAX)
    const numbers = new Set<number>()
    for (let n = 0; n < wanted; n++) {
      const number = randomInteger(random, Math.max(1, this.events.length))
      const { outcome, id, isVoid, isTaken } = this.events[number] ?? {}
      if (outcome === 'acknowledged' && id !== undefined && isVoid !== true && isTaken !== true)
        numbers.add(number)
    }
    const events = [...numbers].map((number) => this.events[number] as LedgerEvent)
    const [first] = events
    if (first === undefined) return undefined
    const changes = events.map(({ quantity }) =>
      random() < 0.2 ? { quantity, isVoid: true } : { quantity: randomQuantity(random) },
    )
    for (const event of events) event.isTaken = true
    const bodies = changes.map(({ quantity, isVoid }) => (isVoid === true ? { void: true } : { quantity }))
    const common = { key: undefined, numbers: [...numbers], isBad: false, changes }
    if (wanted > 1) {
      const corrections = events.map(({ id }, n) => ({ event_id: id, ...bodies[n] }))
      return {
        ...common,
        method: 'POST',
        path: '/v2/events/corrections',
        body: { corrections },
      }
    }
    const path = `/v2/events/${first.id ?? ''}`
    return changes[0]?.isVoid === true
      ? { ...common, method: 'POST', path: `${path}/void`, body: {} }
      : { ...common, method: 'PATCH', path, body: bodies[0] ?? {} }
  }

  /** Lets other workers correct the events of a correction that has ended or was not sent. */
  private letGo(request: Request | undefined): void {
    if (request?.changes === undefined) return
    for (const number of request.numbers) {
      const event = this.events[number]
      if (event !== undefined) event.isTaken = false
    }
  }

  private makeRequest(random: Random): Request {
    const isSingle = random() < 0.5
    const hasHeader = random() < 0.2
    const isBad = random() < 0.03
    const count = isSingle ? 1 : 1 + randomInteger(random, this.options.batchMax)
    const numbers: number[] = []
    const bodies: object[] = []
    for (let n = 0; n < count; n++) {
      const earlier = this.recent[randomInteger(random, RECENT_MAX)]
      if (earlier !== undefined && !hasHeader && !isBad && random() < 0.1) {
        if (numbers.includes(earlier.number)) continue
        numbers.push(earlier.number)
        bodies.push(earlier.body)
        continue
      }
      const { number, body } = this.makeEvent(random, !hasHeader)
      numbers.push(number)
      bodies.push(body)
      if (hasHeader || isBad) continue
      this.recent[number % RECENT_MAX] = { number, body }
    }
    if (isBad) bodies[bodies.length - 1] = { ...bodies.at(-1), ...pick(random, FAULTS) }
    const key = hasHeader ? `${this.run} ${this.requests++}` : undefined
    return isSingle
      ? { method: 'POST', path: '/v2/events', body: bodies[0] ?? {}, key, numbers, isBad }
      : {
          method: 'POST',
          path: '/v2/events/batch',
          body: { events: bodies },
          key,
          numbers,
          isBad,
        }
  }

  private makeEvent(random: Random, hasKey: boolean): { number: number; body: object } {
    const account = pick(random, this.options.accounts)
    const source = pick(random, this.options.sources)
    const quantity = randomQuantity(random)
    const number = this.events.push({ account, source, quantity, outcome: 'unknown' }) - 1
    const isOld = random() < HISTORY.share
    const backS = isOld
      ? HISTORY.agoS + randomInteger(random, HISTORY.spanS)
      : randomInteger(random, this.options.spanS ?? SPAN_S)
    const body = {
      account_id: account,
      ...(source.startsWith('metric_') ? { metric_id: source } : { currency: source }),
      quantity,
      properties: { run: this.run, number },
      ...(hasKey
        ? {
            idempotency_key: `${this.run} ${number}`,
            occurred_at: this.now - backS,
          }
        : {}),
    }
    return { number, body }
  }

  /** Sends a request until it is answered with 2xx or 4xx. */
  private async bringThrough(request: Request): Promise<void> {
    const giveUpAt = performance.now() + GIVE_UP_MS
    let wasUnclear = false
    for (let waitMs = BACK_OFF_MS.first; ; waitMs = Math.min(waitMs * 2, BACK_OFF_MS.longest)) {
      const { status, text } = await this.attempt(request)
      // An attempt without an answer has used up the key, so its request was done.
      const isDone = status === 202 || (status === 409 && request.key !== undefined && wasUnclear)
      const wasRepeated = status === 409 && request.key !== undefined && this.isAcknowledged(request)
      if (isDone || wasRepeated) {
        this.settle(request, 'acknowledged')
        if (request.changes !== undefined) this.noteCorrected(request)
        else if (status === 202) this.noteIds(request, text)
        if (request.isBad) this.surprises.push(`a bad request was accepted: ${JSON.stringify(request.body)}`)
        return
      }
      if (status !== undefined && status >= 400 && status < 500) {
        if (request.changes === undefined) this.settle(request, 'refused')
        if (!request.isBad) this.surprises.push(`a good request was refused: ${status} ${text}`)
        return
      }
      if (status === 500) this.surprises.push(`an internal error: ${text}`)
      if (performance.now() > giveUpAt) {
        this.surprises.push(`no answer in ${GIVE_UP_MS} ms, the last was ${String(status)} ${text}`)
        return
      }
      wasUnclear = true
      await sleep(waitMs)
    }
  }

  private noteCorrected({ numbers, changes = [] }: Request): void {
    for (const [n, number] of numbers.entries()) Object.assign(this.events[number] ?? {}, changes[n])
  }

  private noteIds({ numbers }: Request, text: string): void {
    const answer = JSON.parse(text) as { id?: string; event_ids?: string[] }
    const ids = answer.event_ids ?? [answer.id]
    for (const [n, number] of numbers.entries()) {
      const [event, id] = [this.events[number], ids[n]]
      if (event !== undefined && id !== undefined) event.id = id
    }
  }

  private isAcknowledged({ numbers }: Request): boolean {
    return numbers.every((number) => this.events[number]?.outcome === 'acknowledged')
  }

  private settle({ numbers }: Request, outcome: Outcome): void {
    for (const number of numbers) {
      const event = this.events[number]
      // An acknowledged event stays acknowledged.
      if (event !== undefined && event.outcome !== 'acknowledged') event.outcome = outcome
    }
  }

  private async attempt(request: Request): Promise<{ status: number | undefined; text: string }> {
    const startedAt = performance.now()
    const note = (status: number | undefined, retryAfter: string | null) => {
      const at = performance.now()
      const isSingle = request.path === '/v2/events'
      this.attempts.push({ status, retryAfter: retryAfter ?? undefined, ms: at - startedAt, at, isSingle })
    }
    try {
      const response = await fetch(this.options.url() + request.path, {
        method: request.method,
        headers: {
          'x-api-key': this.options.key,
          'content-type': 'application/json',
          ...(request.key === undefined ? {} : { 'idempotency-key': request.key }),
        },
        // The JSON changes with each attempt, as with a library whose maps have no order.
        body: JSON.stringify(this.attempts.length % 2 === 0 ? request.body : turned(request.body)),
        signal: AbortSignal.timeout(ATTEMPT_MS),
      })
      const text = await response.text()
      note(response.status, response.headers.get('retry-after'))
      return { status: response.status, text }
    } catch {
      note(undefined, null)
      return { status: undefined, text: '' }
    }
  }

  /** The number of a listed event in this ledger; undefined if this ledger did not send it. */
  numberOf(properties: Record<string, unknown>): number | undefined {
    return properties['run'] === this.run ? Number(properties['number']) : undefined
  }
}

const FAULTS: readonly object[] = [
  { account_id: `account_${'0'.repeat(32)}` },
  { quantity: '0.0000000000000000001' },
  { quantity: '100000000000000000000' },
  { occurred_at: 1 },
  { quantity: 'a lot' },
]

const pick = <T>(random: Random, items: readonly T[]): T => {
  const item = items[randomInteger(random, items.length)]
  if (item === undefined) throw new RangeError('nothing to pick from')
  return item
}

/**
 * Draws a quantity with up to 20 digits before the point and 18 after it, all lengths equally often, some negative, in
 * the form that Tally shows.
 */
function randomQuantity(random: Random): string {
  const digits = (count: number) =>
    Array.from({ length: count }, () => String(randomInteger(random, 10))).join('')
  const units = BigInt(digits(1 + randomInteger(random, 38)))
  return textOf(random() < 0.1 ? -units : units)
}
