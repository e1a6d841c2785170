import { Fifo } from './fifo.ts'
import type { Blocked, Failing, Fault, LookUpOutcome, Outcome } from './outcome.ts'

/** What the core knows of an event. */
export interface QueuedEvent {
  /** The size of its JSON. */
  readonly bytes: number
  readonly addedAt: number
  /** Names of ids that must be known before it is sent: `account:acme`, `metric:tokens`. */
  readonly needs: readonly string[]
  /** The ids by name, as far as they are known. */
  ids?: Record<string, string> | undefined
  /** When the event is returned unsent, unless a request with it is under way; undefined for never. */
  readonly giveUpAt?: number | undefined
}

export interface CoreOptions {
  batchEvents: number
  batchBytes: number
  lingerMs: number
  inFlight: number
  queueEvents: number
  queueBytes: number
  /** A name that must be looked up before any event is sent. */
  gate?: string
}

export interface Batch<E> {
  readonly events: readonly E[]
  /** How often it was sent before. */
  readonly attempt: number
  /** The number of failures when it was sent. */
  readonly epoch: number
}

/** What became of events. */
export interface Settled<E> {
  accepted: readonly E[]
  setAside: readonly { event: E; reason: string }[]
}

export type CoreState = 'ok' | 'failing' | 'blocked'

const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 30_000
const BLOCKED_WAIT_MS = 30_000
/** A longer Retry-After is probably a mistake, and would stop the reporter for that long. */
const RETRY_AFTER_MAX_MS = 600_000
/** An event further ahead than this has a wrong time. A clock that is so wrong would be noticed. */
const HOLD_MAX_MS = 86_400_000
const KNOWN_MAX = 100_000
/** The queue is low when only this part of it is used. */
const LOW = 4

interface Waiting<E> {
  events: readonly E[]
  attempt: number
}

/**
 * Decides what a reporter sends and when. It does no I/O and has no clock: every method gets the time, in milliseconds
 * from any start, and each random number. The Python SDK has the same machine, and both run the histories of
 * `clients/vectors/reporter.json`.
 */
export class ReporterCore<E extends QueuedEvent> {
  private readonly options: CoreOptions
  /** Every event that is not settled, the oldest first. */
  private readonly all = new Set<E>()
  private bytesHeld = 0
  private readonly queue = new Fifo<E>()
  private queueBytes = 0
  /** Batches that are sent as they are, before the queue. */
  private readonly again = new Fifo<Waiting<E>>()
  private held: { event: E; until: number }[] = []
  private nextHeldAt = Infinity
  private readonly waiting = new Map<string, E[]>()
  private readonly lookingUp = new Map<string, number>()
  private readonly known = new Map<string, string>()
  private batches = 0
  private gateIsOpen: boolean
  private epoch = 0
  private failures = 0
  private retryAt = 0
  private dueBefore = -Infinity
  private nextGiveUpAt = Infinity
  state: CoreState = 'ok'
  /** What is wrong, while the state is not ok. */
  problem: string | undefined

  constructor(options: CoreOptions) {
    this.options = options
    this.gateIsOpen = options.gate === undefined
  }

  get events(): number {
    return this.all.size
  }

  get bytes(): number {
    return this.bytesHeld
  }

  get inFlight(): number {
    return this.batches
  }

  /** The events that wait until Tally's clock has reached their time. */
  get heldEvents(): number {
    return this.held.length
  }

  get oldest(): E | undefined {
    return this.all.values().next().value
  }

  /** Whether so little is left that more is needed soon. */
  get isLow(): boolean {
    const { queueEvents, queueBytes } = this.options
    return this.all.size * LOW <= queueEvents && this.bytesHeld * LOW <= queueBytes
  }

  hasRoom(events: number, bytes: number): boolean {
    const { queueEvents, queueBytes } = this.options
    return this.all.size + events <= queueEvents && this.bytesHeld + bytes <= queueBytes
  }

  /** Takes an event. @returns false when a bound refuses it */
  add(event: E): boolean {
    if (!this.hasRoom(1, event.bytes)) return false
    this.restore(event)
    return true
  }

  /** Takes an event that has to be taken, beyond the bounds as well. */
  restore(event: E): void {
    this.all.add(event)
    this.bytesHeld += event.bytes
    this.noteGiveUp(event)
    this.place(event)
  }

  /**
   * Whether the event that was added last only joins others that wait. Then nothing is to be done before the next
   * wake-up or answer.
   */
  get onlyJoined(): boolean {
    if (this.queue.size < 2 || this.waiting.size > 0 || this.nextGiveUpAt !== Infinity) return false
    return !this.isFull || (this.state === 'ok' && this.batches >= this.options.inFlight)
  }

  /** Makes all present events due, so that they do not linger. */
  flush(now: number): void {
    this.dueBefore = now
  }

  /** @returns the name that is to be looked up now, or undefined. Each must be ended by `lookedUp` */
  nextLookUp(now: number): string | undefined {
    if (!this.mayTry(now)) return undefined
    const name = this.nameToLookUp()
    if (name !== undefined) this.lookingUp.set(name, this.epoch)
    return name
  }

  /** @param random from 0 up to 1 */
  lookedUp(name: string, outcome: LookUpOutcome, now: number, random: number): Settled<E> {
    const epoch = this.lookingUp.get(name)
    this.lookingUp.delete(name)
    const isGate = name === this.options.gate
    if (outcome.kind === 'failing' || outcome.kind === 'blocked')
      this.fail(outcome, epoch ?? this.epoch, now, random)
    else if (isGate && outcome.kind === 'missing')
      this.fail({ kind: 'blocked', text: outcome.text }, epoch ?? this.epoch, now, random)
    else {
      this.succeed()
      if (isGate) this.gateIsOpen = true
      else return this.settleName(name, outcome)
    }
    return NOTHING
  }

  idOf(name: string): string | undefined {
    return this.known.get(name)
  }

  /** Notes the id of a name. Events that wait for it may be sent. */
  learn(name: string, id: string): void {
    this.known.set(name, id)
    const [oldest] = this.known.keys()
    if (this.known.size > KNOWN_MAX && oldest !== undefined) this.known.delete(oldest)
    const events = this.waiting.get(name) ?? []
    this.waiting.delete(name)
    for (const event of events) this.place(event)
  }

  /** @returns the batch that is to be sent now, or undefined. Each must be ended by `answered` */
  nextBatch(now: number): Batch<E> | undefined {
    this.release(now)
    if (!this.gateIsOpen || !this.mayTry(now)) return undefined
    const next = this.again.shift() ?? this.cut(now)
    if (next === undefined) return undefined
    this.batches++
    return { ...next, epoch: this.epoch }
  }

  /** @param random from 0 up to 1 */
  answered(batch: Batch<E>, outcome: Outcome, now: number, random: number): Settled<E> {
    this.batches--
    if (outcome.kind === 'failing' || outcome.kind === 'blocked') {
      this.fail(outcome, batch.epoch, now, random)
      this.sendAgain(batch.events, batch.attempt + 1)
      return NOTHING
    }
    this.succeed()
    if (outcome.kind === 'refused') return this.refused(batch.events, outcome.text, outcome.faults, now)
    for (const event of batch.events) this.forget(event)
    return { accepted: batch.events, setAside: [] }
  }

  /** Removes and returns the events that are given up. Those under way are not. */
  expire(now: number): readonly E[] {
    if (now < this.nextGiveUpAt) return []
    this.nextGiveUpAt = Infinity
    return this.remove((event) => event.giveUpAt === undefined || event.giveUpAt > now)
  }

  /** Removes and returns all events, those under way as well. */
  takeAll(): E[] {
    const all = [...this.all]
    this.all.clear()
    this.bytesHeld = 0
    return all
  }

  /** When there is something to do next, if nothing else happens; undefined for never. */
  nextWakeAt(now: number): number | undefined {
    const at = Math.min(this.nextGiveUpAt, this.nextHeldAt, this.nextTryAt(now))
    return at === Infinity ? undefined : Math.max(at, now)
  }

  private remove(stays: (event: E) => boolean): readonly E[] {
    const gone: E[] = []
    const keep = (event: E) => {
      const isKept = stays(event)
      if (isKept) this.noteGiveUp(event)
      else gone.push(event)
      return isKept
    }
    for (const event of this.queue.sift(keep)) this.queueBytes -= event.bytes
    for (const { events, attempt } of this.again.sift(() => false)) {
      const left = events.filter(keep)
      if (left.length > 0) this.again.push({ events: left, attempt })
    }
    this.held = this.held.filter(({ event }) => keep(event))
    for (const [name, events] of this.waiting) {
      const left = events.filter(keep)
      if (left.length > 0) this.waiting.set(name, left)
      else this.waiting.delete(name)
    }
    this.noteHeld()
    for (const event of gone) this.forget(event)
    return gone
  }

  private noteGiveUp({ giveUpAt = Infinity }: E): void {
    this.nextGiveUpAt = Math.min(this.nextGiveUpAt, giveUpAt)
  }

  private forget(event: E): void {
    if (this.all.delete(event)) this.bytesHeld -= event.bytes
  }

  /** Puts an event into the queue, or lets it wait for the first id that is not known. */
  private place(event: E): void {
    for (const name of event.needs) {
      if (event.ids?.[name] !== undefined) continue
      const id = this.known.get(name)
      if (id === undefined) {
        const others = this.waiting.get(name)
        if (others === undefined) this.waiting.set(name, [event])
        else others.push(event)
        return
      }
      event.ids = { ...event.ids, [name]: id }
    }
    this.queue.push(event)
    this.queueBytes += event.bytes
  }

  private settleName(name: string, outcome: LookUpOutcome & { kind: 'found' | 'missing' }): Settled<E> {
    if (outcome.kind === 'found') {
      this.learn(name, outcome.id)
      return NOTHING
    }
    const events = this.waiting.get(name) ?? []
    this.waiting.delete(name)
    for (const event of events) this.forget(event)
    return { accepted: [], setAside: events.map((event) => ({ event, reason: outcome.text })) }
  }

  private mayTry(now: number): boolean {
    const underWay = this.batches + this.lookingUp.size
    return this.state === 'ok' ? underWay < this.options.inFlight : underWay === 0 && now >= this.retryAt
  }

  private nameToLookUp(): string | undefined {
    const { gate } = this.options
    if (!this.gateIsOpen) return gate === undefined || this.lookingUp.has(gate) ? undefined : gate
    for (const name of this.waiting.keys()) if (!this.lookingUp.has(name)) return name
    return undefined
  }

  private isDue(now: number): boolean {
    const { first } = this.queue
    return first !== undefined && now >= this.dueAt(first)
  }

  /** Whether the queue has a whole batch. */
  private get isFull(): boolean {
    return this.queue.size >= this.options.batchEvents || this.queueBytes >= this.options.batchBytes
  }

  private dueAt(first: E): number {
    return this.isFull || first.addedAt <= this.dueBefore ? -Infinity : first.addedAt + this.options.lingerMs
  }

  private cut(now: number): Waiting<E> | undefined {
    if (!this.isDue(now)) return undefined
    const { batchEvents, batchBytes } = this.options
    const events: E[] = []
    let bytes = 0
    for (;;) {
      const { first } = this.queue
      if (first === undefined || events.length >= batchEvents) break
      if (events.length > 0 && bytes + first.bytes > batchBytes) break
      this.queue.shift()
      bytes += first.bytes
      events.push(first)
    }
    this.queueBytes -= bytes
    return { events, attempt: 0 }
  }

  private sendAgain(events: readonly E[], attempt: number): void {
    this.again.push({ events, attempt })
    for (const event of events) this.noteGiveUp(event)
  }

  private refused(events: readonly E[], text: string, faults: readonly Fault[], now: number): Settled<E> {
    const named = new Map(faults.filter(({ index }) => index < events.length).map((it) => [it.index, it]))
    if (named.size === 0) return this.halve(events, text)
    const setAside: { event: E; reason: string }[] = []
    const rest: E[] = []
    for (const [index, event] of events.entries()) {
      const fault = named.get(index)
      if (fault === undefined) rest.push(event)
      else if (isHeld(fault)) {
        this.held.push({ event, until: now + fault.aheadMs })
        this.nextHeldAt = Math.min(this.nextHeldAt, now + fault.aheadMs)
        this.noteGiveUp(event)
      } else setAside.push({ event, reason: fault.reason })
    }
    if (rest.length > 0) this.sendAgain(rest, 0)
    for (const { event } of setAside) this.forget(event)
    return { accepted: [], setAside }
  }

  private halve(events: readonly E[], text: string): Settled<E> {
    const [only] = events
    if (events.length === 1 && only !== undefined) {
      this.forget(only)
      return { accepted: [], setAside: [{ event: only, reason: text }] }
    }
    const middle = events.length >> 1
    this.sendAgain(events.slice(0, middle), 0)
    this.sendAgain(events.slice(middle), 0)
    return NOTHING
  }

  private release(now: number): void {
    if (now < this.nextHeldAt) return
    const due = this.held.filter(({ until }) => until <= now)
    this.held = this.held.filter(({ until }) => until > now)
    this.noteHeld()
    for (const { event } of due) this.place(event)
  }

  private succeed(): void {
    this.state = 'ok'
    this.problem = undefined
    this.failures = 0
  }

  /**
   * Several batches may be under way when Tally fails. Only the first answer counts as a failure, because the others are
   * no further attempts.
   */
  private fail(outcome: Failing | Blocked, epoch: number, now: number, random: number): void {
    const asked = outcome.kind === 'failing' ? Math.min(outcome.retryAfterMs, RETRY_AFTER_MAX_MS) : 0
    if (epoch !== this.epoch) {
      if (this.state !== 'ok') this.retryAt = Math.max(this.retryAt, now + asked)
      return
    }
    this.epoch++
    this.state = outcome.kind
    this.problem = outcome.text
    if (outcome.kind === 'blocked') {
      this.retryAt = now + BLOCKED_WAIT_MS
      return
    }
    const full = Math.min(FIRST_WAIT_MS * 2 ** Math.min(this.failures, 10), LONGEST_WAIT_MS)
    this.failures++
    this.retryAt = now + Math.max(Math.floor(full / 2 + (random * full) / 2), asked)
  }

  private noteHeld(): void {
    this.nextHeldAt = this.held.reduce((at, { until }) => Math.min(at, until), Infinity)
  }

  private nextTryAt(now: number): number {
    const workAt = this.workAt()
    if (this.state !== 'ok')
      return this.batches + this.lookingUp.size > 0 ? Infinity : Math.max(workAt, this.retryAt)
    return this.mayTry(now) ? workAt : Infinity
  }

  private workAt(): number {
    if (this.nameToLookUp() !== undefined) return -Infinity
    if (!this.gateIsOpen) return Infinity
    if (this.again.size > 0) return -Infinity
    const { first } = this.queue
    return first === undefined ? Infinity : this.dueAt(first)
  }
}

const NOTHING = { accepted: [], setAside: [] } as const

const isHeld = (fault: Fault): fault is Fault & { aheadMs: number } =>
  fault.aheadMs !== undefined && fault.aheadMs > 0 && fault.aheadMs <= HOLD_MAX_MS
