import { describeFailure } from '../core/errors.ts'
import { parseDate } from '../core/retries.ts'
import type { TransportAnswer } from '../core/transport.ts'
import { lookUpOutcomeOf, outcomeOf } from './core/answers.ts'
import type { LookUpOutcome, Outcome } from './core/outcome.ts'
import {
  type Batch,
  type CoreOptions,
  type CoreState,
  type QueuedEvent,
  ReporterCore,
  type Settled,
} from './core/reporter-core.ts'
import type { ReporterPoint } from './spool/points.ts'
import type { ReporterTarget } from './target.ts'
import { occurredAtOf, withIds } from './usage-event.ts'

export interface SentEvent extends QueuedEvent {
  readonly json: string
}

export interface SenderOptions<E> extends CoreOptions {
  target: ReporterTarget
  createAccounts: boolean
  /** Looks up what must be known before any event is sent. */
  passGate: (answer: TransportAnswer) => Promise<LookUpOutcome>
  onSettled: (settled: Settled<E>) => void
  onGivenUp: (events: readonly E[]) => void
  onState: (state: CoreState, problem: string | undefined) => void
  /** Called when there may be room for more events. */
  onRoom: () => void
  reached: (point: ReporterPoint) => void
}

/** A longer timer would overflow. */
const TIMER_MAX_MS = 2_000_000_000

/** Does for the core what it cannot do: requests, timers and random numbers. */
export class Sender<E extends SentEvent> {
  readonly core: ReporterCore<E>
  private readonly options: SenderOptions<E>
  private timer: NodeJS.Timeout | undefined
  private armedFor: number | undefined
  private isStopped = false
  private reportedState = 'ok undefined'
  private readonly lookUps = new Map<string, Promise<LookUpOutcome>>()
  /** How far this machine's clock is ahead of Tally's, within a second. */
  clockSkewMs = 0
  /** Requests that were sent before. */
  resent = 0
  lastError: string | undefined

  constructor(options: SenderOptions<E>) {
    this.options = options
    this.core = new ReporterCore(options)
  }

  /** Sends what may be sent now. */
  pump(): void {
    if (this.isStopped) return
    const { core } = this
    const given = core.expire(performance.now())
    if (given.length > 0) this.options.onGivenUp(given)
    for (;;) {
      const now = performance.now()
      const name = core.nextLookUp(now)
      if (name !== undefined) {
        void this.lookUpForCore(name)
        continue
      }
      const batch = core.nextBatch(now)
      if (batch === undefined) break
      void this.send(batch)
    }
    this.arm()
  }

  flush(): void {
    this.core.flush(performance.now())
    this.pump()
  }

  /** Sends nothing more. What is answered later changes nothing. */
  stop(): void {
    this.isStopped = true
    clearTimeout(this.timer)
  }

  /** Looks up the id of a name, once for all who ask at the same time. It tells the core what it finds. */
  lookUp(name: string): Promise<LookUpOutcome> {
    const underWay = this.lookUps.get(name)
    if (underWay !== undefined) return underWay
    const asked = this.ask(name).finally(() => this.lookUps.delete(name))
    this.lookUps.set(name, asked)
    return asked
  }

  private async ask(name: string): Promise<LookUpOutcome> {
    const { target, createAccounts, gate, passGate } = this.options
    try {
      if (name === gate) return await passGate(await target.caller())
      const [kind, externalId] = partsOf(name)
      // No URL can name them, so nothing has such an external id.
      if (externalId === '.' || externalId === '..')
        return { kind: 'missing', text: `there is no ${kind} ${externalId}` }
      const found = lookUpOutcomeOf(await target.find(kind, externalId), name, Date.now())
      if (found.kind !== 'missing' || kind !== 'account' || !createAccounts) return found
      const made = await target.createAccount(externalId)
      // Another reporter may have made it at the same time.
      const answer = made.status === 409 ? await target.find(kind, externalId) : made
      return lookUpOutcomeOf(answer, name, Date.now())
    } catch (err) {
      return { kind: 'failing', text: describeFailure(err), retryAfterMs: 0 }
    }
  }

  private async lookUpForCore(name: string): Promise<void> {
    const outcome = await this.lookUp(name)
    this.settle(this.core.lookedUp(name, outcome, performance.now(), Math.random()))
  }

  private async send(batch: Batch<E>): Promise<void> {
    if (batch.attempt > 0) this.resent++
    const outcome = await this.outcomeOf(batch)
    if (this.isStopped) return
    this.options.reached('batch-answered')
    this.settle(this.core.answered(batch, outcome, performance.now(), Math.random()))
  }

  private async outcomeOf({ events }: Batch<E>): Promise<Outcome> {
    const body = Buffer.from(`{"events":[${events.map(({ json, ids }) => withIds(json, ids)).join(',')}]}`)
    try {
      const sent = this.options.target.send(body)
      this.options.reached('batch-sent')
      const answer = await sent
      this.noteDate(answer)
      return outcomeOf(
        answer,
        events.length,
        (index) => {
          const json = events[index]?.json
          return json === undefined ? undefined : occurredAtOf(json)
        },
        Date.now(),
      )
    } catch (err) {
      return { kind: 'failing', text: describeFailure(err), retryAfterMs: 0 }
    }
  }

  private noteDate({ headers }: TransportAnswer): void {
    const servedAt = parseDate(headers['date'])
    if (servedAt === undefined) return
    const skewMs = Date.now() - servedAt
    // The header has whole seconds.
    this.clockSkewMs = skewMs >= 0 && skewMs < 1_000 ? 0 : skewMs
  }

  private settle(settled: Settled<E>): void {
    if (this.isStopped) return
    const { state, problem } = this.core
    if (problem !== undefined) this.lastError = problem
    if (this.reportedState !== `${state} ${problem ?? ''}`) {
      this.reportedState = `${state} ${problem ?? ''}`
      this.options.onState(state, problem)
    }
    if (settled.accepted.length + settled.setAside.length > 0) this.options.onSettled(settled)
    this.pump()
    this.options.onRoom()
  }

  private arm(): void {
    const now = performance.now()
    const at = this.core.nextWakeAt(now)
    if (at === this.armedFor) return
    clearTimeout(this.timer)
    this.armedFor = at
    if (at === undefined) return
    this.timer = setTimeout(
      () => {
        this.armedFor = undefined
        this.pump()
      },
      Math.min(Math.ceil(at - now), TIMER_MAX_MS),
    ).unref()
  }
}

function partsOf(name: string): ['account' | 'metric', string] {
  const colon = name.indexOf(':')
  return [name.slice(0, colon) === 'account' ? 'account' : 'metric', name.slice(colon + 1)]
}
