import { setTimeout as sleep } from 'node:timers/promises'
import type { UsageSource, UsageWatcher } from '../core/balance-checks/balance-checks.ts'
import type { TallyClient } from '../core/client.ts'
import type { TransportAnswer } from '../core/transport.ts'
import { bursts } from './bursts.ts'
import type { LookUpOutcome } from './core/outcome.ts'
import type { CoreState, Settled } from './core/reporter-core.ts'
import {
  GaveUpError,
  RejectedEventError,
  ReporterClosedError,
  type ReporterError,
  ReporterFullError,
  UnsentError,
  WrongCompanyError,
} from './errors.ts'
import { Flushes } from './flushes.ts'
import { closeOnSignals, finishBeforeExit } from './keep-alive.ts'
import {
  boundsOf,
  type DEFAULTS,
  INTERNALS,
  type Internals,
  type ReporterOptions,
  type ReporterProblem,
  type SpoolSettings,
} from './options.ts'
import { passGate } from './pass-gate.ts'
import type { ReporterEvent } from './reporter-event.ts'
import { Sender } from './sender.ts'
import { SpoolKeeper } from './spool-keeper.ts'
import { type ReporterTarget, reporterTarget } from './target.ts'
import { encodeEvent, type UsageEvent } from './usage-event.ts'

export interface ReporterStats {
  state: CoreState | 'full'
  /** Events in memory, with those under way. */
  queuedEvents: number
  queuedBytes: number
  /** Requests under way. */
  inFlight: number
  /** Events that wait until Tally's clock has reached their time. */
  heldEvents: number
  spooledEvents: number
  spooledBytes: number
  spooledFiles: number
  oldestUnsentAgeMs: number
  accepted: number
  resentRequests: number
  rejected: number
  /** Lines of the spool that a disk changed. */
  damaged: number
  /** Events of processes that died. */
  takenOver: number
  lastError: string | undefined
  /** How far this machine's clock is ahead of Tally's. */
  clockSkewMs: number
}

export interface CloseResult {
  /** Events that Tally accepted from this reporter. */
  accepted: number
  /** Events that are in the spool. */
  kept: number
  /** Events that Tally refused. */
  rejected: number
}

const CLOSE_MS = 10_000
const BEFORE_EXIT_MS = 10_000
const GATE = 'company'

/**
 * Reports usage so that each event counts once, through failures of Tally, the network and this process.
 *
 * With a spool, `report()` resolves when the event is on the disk. Without one, it resolves when Tally has accepted the
 * event. No event is ever dropped: when there is no room, a new event is refused by an error.
 */
export class UsageReporter implements UsageSource {
  private readonly target: ReporterTarget
  private readonly options: ReporterOptions
  private readonly bounds: typeof DEFAULTS
  private readonly flushes = new Flushes()
  private readonly sender: Sender<ReporterEvent>
  private readonly keeper: SpoolKeeper | undefined
  private readonly noteBurst: (() => void) | undefined
  private readonly stopWatching: (() => void)[]
  private closing: Promise<CloseResult> | undefined
  private wrongCompany: WrongCompanyError | undefined
  private readonly watchers: UsageWatcher[] = []
  private readyWaiting: (() => void)[] = []
  private reports = 0
  private triedBeforeExit = false
  private accepted = 0
  private rejected = 0
  private lastProblem = ''

  /** @throws TypeError, RangeError when an option is not valid */
  constructor(tally: TallyClient, options: ReporterOptions = {}, internals: Internals = INTERNALS) {
    this.target = reporterTarget(tally)
    this.options = options
    this.bounds = boundsOf(options)
    this.sender = this.makeSender(internals)
    this.keeper = options.spool && this.makeKeeper(options.spool, internals)
    this.noteBurst = options.waitUntil && bursts(options.waitUntil, () => this.flush())
    this.stopWatching = this.watchProcess()
    this.sender.pump()
  }

  private makeSender({ reached }: Internals): Sender<ReporterEvent> {
    const { target, bounds } = this
    const { spool, createAccounts = false } = this.options
    return new Sender<ReporterEvent>({
      ...bounds,
      ...(spool && { gate: GATE }),
      target,
      createAccounts,
      passGate: (answer) => this.passGate(answer),
      onSettled: (settled) => {
        this.settled(settled)
      },
      onGivenUp: (events) => {
        const why = `Tally did not accept the event within ${bounds.giveUpAfterMs / 1_000} s`
        for (const event of events) this.giveUp(event, why)
      },
      onState: (state, text = '') => {
        if (state === 'ok') this.lastProblem = ''
        else this.noteProblem({ state, text })
      },
      onRoom: () => {
        this.keeper?.load()
        this.wakeReady()
      },
      reached,
    })
  }

  private makeKeeper({ dir, sync }: SpoolSettings, internals: Internals): SpoolKeeper {
    const { url, mode } = this.target
    const { queueBytes, spoolBytesMax } = this.bounds
    return new SpoolKeeper({
      spool: {
        ...internals,
        dir,
        url,
        mode,
        isSynced: sync !== 'os',
        bytesMax: spoolBytesMax,
        flushes: this.flushes,
        onProblem: (text) => {
          this.noteProblem({ state: 'full', text })
        },
        onRoom: () => {
          this.wakeReady()
        },
      },
      sender: this.sender,
      queueBytes,
      onRejected: (event, reason) => {
        this.reject(event, reason)
      },
      onSafe: (event) => {
        this.finish(event)
      },
      onRefused: (event, err) => {
        this.refuse(event, err)
      },
    })
  }

  private watchProcess(): (() => void)[] {
    return [
      finishBeforeExit({
        isFinished: () => this.reports === 0 && (this.flushes.isEmpty || this.triedBeforeExit),
        finish: () => this.finishAll(),
      }),
      closeOnSignals(this.options.closeOnSignals ?? [], () => this.close()),
    ]
  }

  /** Sends what it can before the process ends by itself. */
  private async finishAll(): Promise<void> {
    // An awaited report() has its own end.
    while (this.reports > 0) await sleep(REPORTS_POLL_MS)
    const isFlushed = await this.flush({ timeoutMs: this.keeper === undefined ? BEFORE_EXIT_MS : WRITE_MS })
    await this.keeper?.written(WRITE_MS)
    this.triedBeforeExit = true
    const { events } = this.sender.core
    if (!isFlushed && this.keeper === undefined)
      process.emitWarning(`${events} usage events were not sent before the process ended`, 'ReporterWarning')
  }

  /**
   * Reports an event. The promise is resolved when the event is safe: in the spool, or accepted by Tally if there is no
   * spool.
   *
   * @throws InvalidEventError, ReporterFullError, ReporterClosedError, WrongCompanyError; nothing was done with the event
   * @throws RejectedEventError when Tally refuses the event before it is safe
   * @throws GaveUpError without a spool, when Tally could not be reached; the event may be reported again
   */
  async report(event: UsageEvent): Promise<void> {
    const entry = this.enter(event, true)
    await new Promise<void>((resolve, reject) => {
      entry.report = { resolve, reject }
      this.reports++
      this.keep(entry)
    })
  }

  /**
   * Adds an event without waiting. `onRejected` and `stats()` show what becomes of it.
   *
   * @returns false when half of a bound is used up: then wait for `ready()`
   * @throws InvalidEventError, ReporterFullError, ReporterClosedError, WrongCompanyError; nothing was done with the event
   */
  add(event: UsageEvent): boolean {
    this.keep(this.enter(event, false))
    return this.isReady()
  }

  /** @returns when less than half of each bound is used up */
  ready(): Promise<void> {
    if (this.isReady()) return Promise.resolve()
    return new Promise((resolve) => this.readyWaiting.push(resolve))
  }

  /**
   * Waits until every event that was added before is accepted or refused by Tally.
   *
   * @returns whether this is so; false after `timeoutMs`
   */
  async flush({ timeoutMs }: { timeoutMs?: number } = {}): Promise<boolean> {
    const flushed = this.flushes.flush().then(() => true)
    this.sender.flush()
    if (timeoutMs === undefined) return await flushed
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => {
        resolve(false)
      }, timeoutMs)
    })
    return await Promise.race([flushed, late]).finally(() => {
      clearTimeout(timer)
    })
  }

  /**
   * Refuses new events, and sends what it can until the deadline. With a spool, the rest is kept there.
   *
   * @throws UnsentError when events are neither in Tally nor in the spool
   */
  close({ deadlineMs = CLOSE_MS }: { deadlineMs?: number } = {}): Promise<CloseResult> {
    this.closing ??= this.end(deadlineMs)
    return this.closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Tells what becomes of usage, for `tally.balanceChecks({ reporter })`. */
  watch(watcher: UsageWatcher): void {
    this.watchers.push(watcher)
  }

  stats(): ReporterStats {
    const { core, resent, lastError, clockSkewMs } = this.sender
    const spooled = this.keeper?.stats
    const inMemoryMs = core.oldest === undefined ? 0 : performance.now() - core.oldest.addedAt
    const onDiskMs = Date.now() - (spooled?.oldestAt ?? Date.now())
    return {
      state: this.keeper?.failure === undefined && this.fullness() < 1 ? core.state : 'full',
      queuedEvents: core.events + (this.keeper?.unwrittenEvents ?? 0),
      queuedBytes: core.bytes + (this.keeper?.unwrittenBytes ?? 0),
      inFlight: core.inFlight,
      heldEvents: core.heldEvents,
      spooledEvents: spooled?.events ?? 0,
      spooledBytes: spooled?.bytes ?? 0,
      spooledFiles: spooled?.files ?? 0,
      oldestUnsentAgeMs: Math.round(Math.max(spooled === undefined ? inMemoryMs : onDiskMs, 0)),
      accepted: this.accepted,
      resentRequests: resent,
      rejected: this.rejected,
      damaged: spooled?.damaged ?? 0,
      takenOver: spooled?.takenOver ?? 0,
      lastError: this.keeper?.failure ?? lastError,
      clockSkewMs,
    }
  }

  /** Checks an event, and whether there is room for it. */
  private enter(event: UsageEvent, isReport: boolean): ReporterEvent {
    if (this.closing !== undefined) throw new ReporterClosedError('the reporter is closed')
    if (this.wrongCompany !== undefined) throw this.wrongCompany
    const encoded = encodeEvent(event, Date.now())
    const full = this.keeper?.refusal(encoded.bytes) ?? this.memoryRefusal(encoded.bytes)
    if (full !== undefined) {
      this.noteProblem({ state: 'full', text: full })
      throw new ReporterFullError(full)
    }
    const now = performance.now()
    const mayGiveUp = isReport && this.keeper === undefined
    for (const watcher of this.watchers) watcher.added(event)
    // All fields at once, because an object that gets more of them later takes more memory.
    return {
      json: encoded.json,
      bytes: encoded.bytes,
      needs: encoded.needs,
      ids: undefined,
      addedAt: now,
      epoch: this.flushes.epoch,
      giveUpAt: mayGiveUp ? now + this.bounds.giveUpAfterMs : undefined,
      file: undefined,
      report: undefined,
    }
  }

  private memoryRefusal(bytes: number): string | undefined {
    if (this.keeper !== undefined || this.sender.core.hasRoom(1, bytes)) return undefined
    const { events, bytes: used } = this.sender.core
    return `the queue has ${events} events with ${used} bytes, which is as much as it may have`
  }

  private keep(event: ReporterEvent): void {
    this.flushes.add(event.epoch, 1)
    this.noteBurst?.()
    if (this.keeper !== undefined) this.keeper.keep(event)
    else {
      this.sender.core.restore(event)
      if (!this.sender.core.onlyJoined) this.sender.pump()
    }
  }

  private settled({ accepted, setAside }: Settled<ReporterEvent>): void {
    this.accepted += accepted.length
    for (const event of accepted) this.finish(event)
    if (this.keeper === undefined) for (const { event, reason } of setAside) this.reject(event, reason)
    else this.keeper.settled(accepted, setAside)
    this.flushes.doneAll(accepted)
    if (accepted.length > 0) this.options.onAccepted?.(accepted.length)
    this.tellSettled()
  }

  private tellSettled(): void {
    if (this.watchers.length === 0) return
    const ageMs = this.flushes.isEmpty ? 0 : this.stats().oldestUnsentAgeMs
    for (const watcher of this.watchers) watcher.settled(ageMs)
  }

  /** Called when Tally refuses an event, and it is in the list of those, if there is a list. */
  private reject(event: ReporterEvent, reason: string): void {
    this.rejected++
    this.options.onRejected?.(event.json, reason)
    this.refuse(event, new RejectedEventError(event.json, reason))
  }

  private giveUp(event: ReporterEvent, why: string): void {
    this.refuse(event, new GaveUpError(event.json, `${why}; report the event again as it is in this error`))
    this.tellSettled()
  }

  private refuse(event: ReporterEvent, err: ReporterError): void {
    this.finish(event, err)
    this.flushes.done(event.epoch, 1)
  }

  /** Ends the wait of `report()`. */
  private finish(event: ReporterEvent, err?: ReporterError): void {
    const { report } = event
    if (report === undefined) return
    event.report = undefined
    this.reports--
    if (err === undefined) report.resolve()
    else report.reject(err)
  }

  private noteProblem(problem: ReporterProblem): void {
    const key = `${problem.state} ${problem.text}`
    if (key === this.lastProblem) return
    this.lastProblem = key
    this.options.onProblem?.(problem)
  }

  /** The largest share that is used of a bound, from 0 on. */
  private fullness(): number {
    const { queueEvents, queueBytes, spoolBytesMax } = this.bounds
    const { core } = this.sender
    if (this.keeper === undefined) return Math.max(core.events / queueEvents, core.bytes / queueBytes)
    return Math.max(this.keeper.unwrittenBytes / queueBytes, this.keeper.bytes / spoolBytesMax)
  }

  private isReady(): boolean {
    return this.fullness() < HALF
  }

  private wakeReady(): void {
    if (this.readyWaiting.length === 0 || !this.isReady()) return
    for (const resolve of this.readyWaiting.splice(0)) resolve()
  }

  private async passGate(answer: TransportAnswer): Promise<LookUpOutcome> {
    const outcome = await passGate(answer, (id) => this.keeper?.noteCompany(id) ?? Promise.resolve(id))
    this.wrongCompany = outcome.kind === 'missing' ? new WrongCompanyError(outcome.text) : undefined
    return outcome
  }

  private async end(deadlineMs: number): Promise<CloseResult> {
    const endAt = performance.now() + deadlineMs
    await this.flush({ timeoutMs: deadlineMs })
    // What is not on the disk yet may be so in a moment.
    await this.keeper?.written(Math.max(endAt - performance.now(), WRITE_MS))
    this.sender.stop()
    for (const stop of this.stopWatching) stop()
    this.target.close()
    const kept = await this.keeper?.close()
    const unsent = [...this.sender.core.takeAll(), ...(kept?.unwritten ?? [])].filter(
      ({ file }) => file === undefined,
    )
    for (const event of unsent) this.giveUp(event, 'the reporter was closed')
    for (const resolve of this.readyWaiting.splice(0)) resolve()
    if (unsent.length > 0) throw new UnsentError(unsent.map(({ json }) => json))
    return { accepted: this.accepted, kept: kept?.events ?? 0, rejected: this.rejected }
  }
}

const HALF = 0.5
const REPORTS_POLL_MS = 20
/** How long `close()` waits at least for the disk. */
const WRITE_MS = 2_000
