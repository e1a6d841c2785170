import { type ReporterError, ReporterFullError } from './errors.ts'
import type { ReporterEvent } from './reporter-event.ts'
import type { Sender } from './sender.ts'
import { GroupWriter } from './spool/group-writer.ts'
import { lineBytes } from './spool/lines.ts'
import { Spool, type SpoolOptions } from './spool/spool.ts'
import type { SpoolFile } from './spool/spool-file.ts'
import { needsOf, withIds } from './usage-event.ts'

export interface SpoolKeeperOptions {
  spool: SpoolOptions
  sender: Sender<ReporterEvent>
  queueBytes: number
  onSafe: (event: ReporterEvent) => void
  onRejected: (event: ReporterEvent, reason: string) => void
  /** Called when an event of `report()` could not be written. */
  onRefused: (event: ReporterEvent, err: ReporterError) => void
}

const GATHER_MS = 5
/** While Tally fails, files wait for long. Fewer and larger ones are better. */
const GATHER_FAILING_MS = 100
const GATHER_BYTES = 256 * 1_024
const GROUP_BYTES_MAX = 8 * 1_024 * 1_024
/** How long an event waits for ids before it is written without them. */
const LOOK_UP_MS = 2_000
const REJECTED_RETRY_MS = 1_000

interface SetAside {
  event: ReporterEvent
  reason: string
}

/** Writes events to the spool before they are sent, and deletes them when they are settled. */
export class SpoolKeeper {
  private readonly options: SpoolKeeperOptions
  private readonly spool: Spool
  private readonly writer: GroupWriter<ReporterEvent>
  /** Events whose ids are looked up before they are written. */
  private readonly lookingUp = new Set<ReporterEvent>()
  private lookingUpBytes = 0
  private setAsides: SetAside[] = []
  private settingAside: Promise<void> | undefined
  private isClosed = false

  constructor(options: SpoolKeeperOptions) {
    this.options = options
    this.spool = new Spool(options.spool)
    const isFailing = () => options.sender.core.state !== 'ok'
    this.writer = new GroupWriter({
      gatherMs: () => (isFailing() ? GATHER_FAILING_MS : GATHER_MS),
      gatherBytes: GATHER_BYTES,
      groupBytesMax: GROUP_BYTES_MAX,
      write: (events) => this.writeGroup(events),
    })
    this.spool.start(isFailing, () => {
      this.load()
    })
  }

  get unwrittenEvents(): number {
    return this.lookingUp.size + this.writer.events
  }

  get unwrittenBytes(): number {
    return this.lookingUpBytes + this.writer.bytes
  }

  /** Whether all is on the disk. */
  get isWritten(): boolean {
    return this.unwrittenEvents === 0 && this.setAsides.length === 0
  }

  get bytes(): number {
    return this.spool.bytes + this.unwrittenBytes
  }

  get failure(): string | undefined {
    return this.spool.failure
  }

  get stats() {
    const { damaged, takenOver } = this.spool
    return { ...this.spool.stats, damaged, takenOver }
  }

  refusal(bytes: number): string | undefined {
    if (this.unwrittenBytes + bytes > this.options.queueBytes)
      return `${this.unwrittenBytes} bytes wait for the disk, and queueBytes is ${this.options.queueBytes}`
    return this.spool.refusal(this.unwrittenBytes + lineBytes(bytes))
  }

  noteCompany = async (id: string): Promise<string> => (await this.spool.open()).noteCompany(id)

  keep(event: ReporterEvent): void {
    if (event.needs.length === 0) this.writer.add(event)
    else void this.keepWithIds(event)
  }

  /** Looks up the ids of an event, if Tally can be reached, so that a later change of external ids does not matter. */
  private async keepWithIds(event: ReporterEvent): Promise<void> {
    this.lookingUp.add(event)
    this.lookingUpBytes += event.bytes
    const missing = await this.findIds(event)
    this.lookingUp.delete(event)
    this.lookingUpBytes -= event.bytes
    if (missing === undefined) this.writer.add(isKnown(event) ? sendable(event) : event)
    else if (event.report === undefined) this.settled([], [{ event, reason: missing }])
    else this.options.onRejected(event, missing)
  }

  /** @returns why the event cannot be sent, when a name of it is not found */
  private async findIds(event: ReporterEvent): Promise<string | undefined> {
    const { sender } = this.options
    for (const name of event.needs) {
      let id = sender.core.idOf(name)
      if (id === undefined) {
        // Without an answer so far, Tally may be away.
        if (sender.core.state !== 'ok') return undefined
        const found = await withinMs(sender.lookUp(name), LOOK_UP_MS)
        if (found?.kind === 'missing') return found.text
        if (found?.kind !== 'found') return undefined
        sender.core.learn(name, found.id)
        id = found.id
      }
      event.ids = { ...event.ids, [name]: id }
    }
    return undefined
  }

  private async writeGroup(events: readonly ReporterEvent[]): Promise<void> {
    const { sender, spool, onSafe } = this.options
    let file: SpoolFile
    try {
      file = await this.spool.write(events)
    } catch (err) {
      this.unwritten(events, err)
      return
    }
    for (const event of events) onSafe(event)
    spool.reached('group-acknowledged')
    const bytes = events.reduce((sum, event) => sum + event.bytes, 0)
    if (this.spool.hasCold || !sender.core.hasRoom(events.length, bytes)) this.spool.cool(file)
    else {
      for (const event of events) {
        event.file = file
        sender.core.restore(event)
      }
      sender.pump()
    }
    this.load()
    spool.onRoom()
  }

  /** Events of `report()` are refused. The others were taken, so they are sent from memory. */
  private unwritten(events: readonly ReporterEvent[], err: unknown): void {
    const { sender, onRefused } = this.options
    const why = err instanceof Error ? err.message : String(err)
    for (const event of events)
      if (event.report === undefined) sender.core.restore(event)
      else onRefused(event, new ReporterFullError(`the spool cannot be written: ${why}`, { cause: err }))
    sender.pump()
  }

  /** Reads back events for which there is room in memory. */
  load(): void {
    const { core } = this.options.sender
    if (this.isClosed || !this.spool.hasCold) return
    // A file that is larger than the queue must be read as well, and before the queue is empty.
    const hasRoom = (events: number, bytes: number) => core.hasRoom(events, bytes) || core.isLow
    void this.spool.loadNext(hasRoom).then(
      (loaded) => {
        if (loaded !== undefined) this.revive(loaded.file, loaded.events)
      },
      (err: unknown) => {
        this.options.spool.onProblem(`the spool cannot be read: ${String(err)}`)
      },
    )
  }

  private revive(file: SpoolFile, events: readonly string[]): void {
    const { sender } = this.options
    for (const json of events) {
      const needs = needsOf(json)
      sender.core.restore({
        json,
        bytes: Buffer.byteLength(json),
        needs,
        addedAt: 0,
        epoch: file.epoch,
        file,
      })
    }
    sender.pump()
    this.load()
  }

  /** Deletes files whose events are all settled. Events that were set aside are written first. */
  settled(accepted: readonly ReporterEvent[], setAside: readonly SetAside[]): void {
    this.settleFiles(accepted)
    if (setAside.length === 0) return
    this.setAsides.push(...setAside)
    this.settingAside ??= this.writeSetAsides().finally(() => (this.settingAside = undefined))
  }

  private async writeSetAsides(): Promise<void> {
    while (this.setAsides.length > 0 && !this.isClosed) {
      // A copy, because others are added meanwhile.
      const some = [...this.setAsides]
      try {
        await this.spool.setAside(some.map(({ event, reason }) => ({ json: event.json, reason })))
      } catch {
        // The disk is full, say. The events stay in their files, and are still in memory.
        await new Promise((resolve) => setTimeout(resolve, REJECTED_RETRY_MS).unref())
        continue
      }
      this.setAsides = this.setAsides.slice(some.length)
      for (const { event, reason } of some) this.options.onRejected(event, reason)
      this.settleFiles(some.map(({ event }) => event))
    }
  }

  private settleFiles(events: readonly ReporterEvent[]): void {
    const counts = new Map<SpoolFile, number>()
    for (const { file } of events) if (file !== undefined) counts.set(file, (counts.get(file) ?? 0) + 1)
    for (const [file, count] of counts) this.spool.settle(file, count)
  }

  /** @returns when all is on the disk, or after this time */
  async written(timeoutMs: number): Promise<void> {
    const all = async () => {
      while (!this.isWritten) {
        await this.writer.settle()
        await this.settingAside
        if (this.lookingUp.size > 0) await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
      }
    }
    await withinMs(all(), timeoutMs)
  }

  /** @returns how many events are in files, and those that could not be written */
  async close(): Promise<{ events: number; unwritten: ReporterEvent[] }> {
    this.isClosed = true
    const left = [...this.lookingUp, ...this.writer.takeAll(), ...this.setAsides.map(({ event }) => event)]
    await this.spool.close()
    return { events: this.spool.stats.events, unwritten: left }
  }
}

const isKnown = ({ needs, ids = {} }: ReporterEvent): boolean =>
  needs.every((name) => ids[name] !== undefined)

/** The event with ids in place of external ids. */
function sendable(event: ReporterEvent): ReporterEvent {
  const json = withIds(event.json, event.ids)
  return { ...event, json, bytes: Buffer.byteLength(json), needs: [] }
}

async function withinMs<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      resolve(undefined)
    }, ms)
  })
  return await Promise.race([promise, late]).finally(() => {
    clearTimeout(timer)
  })
}
