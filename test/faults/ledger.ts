import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Random, randomInteger, seededRandom } from '../../clients/reporter/simulate/seeded-random.ts'
import { textOf } from '../support/decimal-units.ts'
import { turned } from '../support/turned-json.ts'

/** What became of an event, as its reporter knows it. */
type Outcome = 'unknown' | 'acknowledged' | 'refused'

/** An event that was reported at least once. */
export interface LedgerEvent {
  account: string
  source: string
  /** As it was reported, or corrected since. */
  quantity: string
  outcome: Outcome
  /** Known once an answer told. */
  id?: string
  isVoid?: boolean
  /** Somebody corrects it: who keeps books must know in which order. */
  isTaken?: boolean
}

/** One request, as it is sent and sent again. */
interface Request {
  method: 'POST' | 'PATCH'
  path: string
  body: object
  /** An Idempotency-Key header, where the events have no keys of their own. */
  key: string | undefined
  /** The events in it, by their numbers in the ledger. */
  numbers: number[]
  /** It holds something that Tally must refuse. */
  isBad: boolean
  /** What a correction makes of its events, in their order. */
  changes?: Pick<LedgerEvent, 'quantity' | 'isVoid'>[]
}

/** An answer, or the lack of one. */
export interface Attempt {
  /** Undefined when the connection was cut. */
  status: number | undefined
  retryAfter: string | undefined
  ms: number
  /** When it ended, by performance.now(). */
  at: number
  /** Of one event, as a rule the quickest. */
  isSingle: boolean
}

export interface LedgerOptions {
  /** Where reports go, asked at each attempt. */
  url: () => string
  key: string
  accounts: readonly string[]
  /** Metric ids and currencies. */
  sources: readonly string[]
  seed: string
  workers: number
  /** The most events in a batch. */
  batchMax: number
  /** Which part of the requests corrects events that were acknowledged before. */
  corrects?: number
  /** Usage occurred up to so many seconds ago; else up to 30 days. */
  spanS?: number
  /** Between the requests of a worker; without it the next follows at once. */
  pauseMs?: number
}

/** One request may take so long; then it counts as cut. */
const ATTEMPT_MS = 40_000
const BACK_OFF_MS = { first: 20, longest: 500 }
/** How long an event is reported again before its reporter gives up, and the run fails. */
const GIVE_UP_MS = 120_000
const RECENT_MAX = 400
/** The most events of one request that corrects. */
const CORRECTED_MAX = 5
const SPAN_S = 30 * 86_400
/** Some of it in two days of long ago, which is stored in another way, too. */
const HISTORY = { share: 0.1, agoS: 45 * 86_400, spanS: 2 * 86_400 }

/**
 * Reporters that keep books: several workers send events of random exact quantities, now and then once more, alone and
 * in other company, and after trouble the same request again until it is answered, as the contract asks of clients. For
 * each event it is known what became of it.
 */
export class Ledger {
  readonly events: LedgerEvent[] = []
  readonly attempts: Attempt[] = []
  /** What should never be answered. */
  readonly surprises: string[] = []
  private readonly options: LedgerOptions
  private readonly run: string
  private readonly now = Math.floor(Date.now() / 1_000)
  private running = false
  private workers: Promise<void>[] = []
  /** Bodies of events with keys of their own, which may be sent again in any company. */
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

  /** Every worker brings its request to an end. */
  async stop(): Promise<void> {
    this.running = false
    await Promise.all(this.workers)
  }

  /** Works for so long. */
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
      // Now and then the same request once more, though it was answered.
      const repeats = last !== undefined && random() < 0.1
      const correction = random() < (this.options.corrects ?? 0) ? this.makeCorrection(random) : undefined
      const request = repeats && last !== undefined ? last : (correction ?? this.makeRequest(random))
      if (request !== correction) this.letGo(correction)
      await this.bringThrough(request)
      this.letGo(request)
      // Another may have corrected its events since.
      last = request.changes === undefined ? request : undefined
      if (this.options.pauseMs !== undefined) await sleep(this.options.pauseMs * (0.5 + random()))
    }
  }

  /** Corrects one event, or several at once; undefined while there is none to correct. */
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

  /** Lets others correct the events of a correction that came to its end, or was not sent at all. */
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
      // A key that an attempt without an answer used up: its request was carried out.
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
      // What was acknowledged once stays so.
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
        // Each time made anew, as by a library whose maps have no order.
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

  /** Where an event that was listed stands in this ledger; undefined when it is none of its own. */
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
 * Up to 20 digits before the point and 18 after it, all lengths alike, some below zero, in the form in which Tally
 * shows it.
 */
function randomQuantity(random: Random): string {
  const digits = (count: number) =>
    Array.from({ length: count }, () => String(randomInteger(random, 10))).join('')
  const units = BigInt(digits(1 + randomInteger(random, 38)))
  return textOf(random() < 0.1 ? -units : units)
}
