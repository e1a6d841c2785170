import type { Flushes } from '../flushes.ts'
import { fileNameOf } from './file-name.ts'
import { checkLines, encodeLine, LineBuffer, parseLines } from './lines.ts'
import { presentFile, type SpoolFile, spoolFile } from './spool-file.ts'
import { type FolderOptions, type Listing, SpoolFolder } from './spool-folder.ts'

/** An event that is written to the spool. */
export interface SpooledEvent {
  readonly json: string
  readonly bytes: number
  epoch: number
}

/** How often things happen, in milliseconds. Only tests change it. */
export interface SpoolTimings {
  /** How often the folder is listed, and the sign of life given. */
  listMs: number
  /** After this time without a sign of life the files of a process are sent by others. */
  deadMs: number
  mergeMs: number
}

export const SPOOL_TIMINGS: SpoolTimings = { listMs: 10_000, deadMs: 60_000, mergeMs: 60_000 }

export interface SpoolOptions extends FolderOptions {
  bytesMax: number
  timings: SpoolTimings
  flushes: Flushes
  onProblem: (text: string) => void
  /** Called when there may be more room. */
  onRoom: () => void
}

const REJECTED_BYTES_MAX = 64 * 1_024 * 1_024
/** A file is read as a whole, also when it has more events than the queue may. */
const MERGED_BYTES_MAX = 1_024 * 1_024
/** A file of this size is not merged. */
const SMALL_BYTES = MERGED_BYTES_MAX / 2
/** How long a disk that refused to write is not asked again. */
const DISK_PAUSE_MS = 1_000

/** The events of this process on the disk, and those of processes that died. */
export class Spool {
  private readonly options: SpoolOptions
  private folder: SpoolFolder | undefined
  private opening: Promise<SpoolFolder> | undefined
  private readonly files = new Map<string, SpoolFile>()
  /** Files whose events are not in memory, the oldest first. */
  private cold: SpoolFile[] = []
  private fileBytes = 0
  private othersBytes = 0
  private rejectedBytes = 0
  private made = 0
  private readonly lines = new LineBuffer()
  private diskFailedAt = -Infinity
  private diskFailure: string | undefined
  private readonly removing = new Set<Promise<void>>()
  /** Files that were removed since the last listing began, which may still be in it. */
  private removed = new Set<string>()
  /** Files that cannot be read or deleted. They stay as they are. */
  private readonly leftAlone = new Set<string>()
  private mergedAt = performance.now()
  private isLoading = false
  private ticking: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined
  damaged = 0
  takenOver = 0

  constructor(options: SpoolOptions) {
    this.options = options
  }

  /** Opens the folder, unless it is open. A failure is not remembered: the next call tries again. */
  open(): Promise<SpoolFolder> {
    this.opening ??= SpoolFolder.open(this.options).then(
      (folder) => {
        this.folder = folder
        return folder
      },
      (err: unknown) => {
        this.opening = undefined
        this.noteDisk(err)
        throw err
      },
    )
    return this.opening
  }

  /** Starts to list the folder from time to time. */
  start(isFailing: () => boolean, onCold: () => void): void {
    const tick = () => {
      this.ticking ??= this.tick(isFailing())
        .then(onCold, (err: unknown) => {
          this.options.onProblem(`the spool cannot be listed: ${textOf(err)}`)
        })
        .finally(() => (this.ticking = undefined))
    }
    tick()
    this.timer = setInterval(tick, this.options.timings.listMs).unref()
  }

  get stats(): { files: number; bytes: number; oldestAt: number | undefined; events: number } {
    const files = [...this.files.values()]
    return {
      files: files.length,
      bytes: this.fileBytes,
      events: files.reduce((sum, { left }) => sum + left, 0),
      oldestAt: files.reduce<number | undefined>(
        (at, { name }) => Math.min(at ?? Infinity, name.madeAt),
        undefined,
      ),
    }
  }

  get bytes(): number {
    return this.fileBytes + this.othersBytes
  }

  /** Why a new event of this size has no room; undefined when it has. */
  refusal(bytes: number): string | undefined {
    if (this.bytes + bytes > this.options.bytesMax)
      return `the spool has ${this.bytes} bytes, and bytesMax is ${this.options.bytesMax}`
    if (this.rejectedBytes >= REJECTED_BYTES_MAX)
      return `the events that were set aside have ${this.rejectedBytes} bytes: read and delete them`
    if (performance.now() - this.diskFailedAt < DISK_PAUSE_MS) return this.diskFailure
    return undefined
  }

  /** What the disk answered last, if it refused to write. */
  get failure(): string | undefined {
    return this.diskFailure
  }

  /**
   * Writes events as one file. It must not be called again before it is done.
   *
   * @throws the error of the file system; then nothing was written
   */
  async write(events: readonly SpooledEvent[]): Promise<SpoolFile> {
    const epoch = events.reduce((least, event) => Math.min(least, event.epoch), Infinity)
    for (const event of events) {
      this.options.flushes.move(event.epoch, epoch, 1)
      event.epoch = epoch
    }
    try {
      const file = await this.writeLines([this.lines.encode(events)], events.length, { isCold: false, epoch })
      this.diskFailure = undefined
      return file
    } catch (err) {
      this.noteDisk(err)
      throw err
    }
  }

  private async writeLines(
    content: readonly Buffer[],
    events: number,
    how: Pick<SpoolFile, 'isCold' | 'epoch'>,
  ): Promise<SpoolFile> {
    const folder = await this.open()
    const name = fileNameOf({
      madeAt: Date.now(),
      nonce: folder.nonce,
      n: ++this.made,
      events,
      bytes: content.reduce((sum, { length }) => sum + length, 0),
    })
    await folder.writeFile(name, content)
    const file = spoolFile(name, how)
    this.track(file)
    return file
  }

  private track(file: SpoolFile): void {
    this.files.set(file.name.text, file)
    this.fileBytes += file.name.bytes
  }

  private untrack(file: SpoolFile): void {
    if (this.files.delete(file.name.text)) this.fileBytes -= file.name.bytes
    this.removed.add(file.name.text)
  }

  private noteDisk(err: unknown): void {
    this.diskFailedAt = performance.now()
    this.diskFailure = `the spool cannot be written: ${textOf(err)}`
    this.options.onProblem(this.diskFailure)
  }

  get hasCold(): boolean {
    return this.cold.length > 0
  }

  /** Lets go of the events of a file in memory. They are read back later. */
  cool(file: SpoolFile): void {
    file.isCold = true
    this.cold.push(file)
  }

  /**
   * Reads the oldest file back whose events are not in memory.
   *
   * @param hasRoom whether so many events and bytes fit into memory
   */
  async loadNext(
    hasRoom: (events: number, bytes: number) => boolean,
  ): Promise<{ file: SpoolFile; events: string[] } | undefined> {
    const file = this.cold.find(({ isBusy }) => !isBusy)
    if (this.isLoading || file === undefined || !hasRoom(file.name.events, file.name.bytes)) return undefined
    this.isLoading = true
    file.isBusy = true
    try {
      const bytes = await this.readFile(file)
      this.cold = this.cold.filter((one) => one !== file)
      if (bytes === undefined) {
        this.recount(file, 0)
        return undefined
      }
      const { events, damaged } = parseLines(bytes)
      await this.keepDamaged(file, damaged)
      this.recount(file, events.length)
      file.isCold = false
      return { file, events }
    } finally {
      file.isBusy = false
      this.isLoading = false
      this.removeIfDone(file)
    }
  }

  /** @returns undefined when the file is gone, or cannot be read */
  private async readFile(file: SpoolFile): Promise<Buffer | undefined> {
    const folder = await this.open()
    try {
      return await folder.read(file.name)
    } catch (err) {
      this.options.onProblem(`${file.name.text} cannot be read: ${textOf(err)}`)
      this.leftAlone.add(file.name.text)
      file.stays = true
      return undefined
    }
  }

  /** Corrects the number of events of a file that are not in memory. */
  private recount(file: SpoolFile, events: number): void {
    this.options.flushes.add(file.epoch, events - file.left)
    this.options.flushes.done(file.epoch, file.left - events)
    file.left = events
  }

  private async keepDamaged(file: SpoolFile, lines: readonly Buffer[]): Promise<void> {
    if (lines.length === 0) return
    this.damaged += lines.length
    this.options.onProblem(`${file.name.text} has ${lines.length} damaged lines: a disk changed them`)
    try {
      await (await this.open()).keepDamaged(file.name, lines)
    } catch (err) {
      file.stays = true
      this.noteDisk(err)
    }
  }

  /** Notes that events of a file are accepted or set aside. When all are, the file is deleted. */
  settle(of: SpoolFile, events: number): void {
    const file = presentFile(of)
    file.left -= events
    this.removeIfDone(file)
  }

  private removeIfDone(file: SpoolFile): void {
    if (file.left > 0 || file.isBusy || file.stays || file.into !== undefined) return
    if (this.files.has(file.name.text)) this.remove(file)
  }

  private remove(file: SpoolFile): void {
    // A second call before the first has ended does nothing.
    file.stays = true
    const removal = (this.folder?.remove(file.name) ?? Promise.resolve())
      .catch((err: unknown) => {
        this.options.onProblem(`${file.name.text} was sent, but cannot be deleted: ${textOf(err)}`)
        this.leftAlone.add(file.name.text)
      })
      .then(() => {
        this.untrack(file)
        this.removing.delete(removal)
        this.options.onRoom()
      })
    this.removing.add(removal)
  }

  /** Writes events that were set aside, with the reasons. */
  async setAside(lines: readonly { json: string; reason: string }[]): Promise<void> {
    const now = Date.now()
    const text = lines
      .map(({ json, reason }) =>
        encodeLine(
          `{"rejected_at":${Math.floor(now / 1_000)},"reason":${JSON.stringify(reason)},"event":${json}}`,
        ),
      )
      .join('')
    try {
      await (await this.open()).appendRejected(text, now)
      this.rejectedBytes += Buffer.byteLength(text)
    } catch (err) {
      this.noteDisk(err)
      throw err
    }
  }

  private async tick(isFailing: boolean): Promise<void> {
    const folder = await this.open()
    await this.showLife(folder)
    this.removed = new Set()
    this.takeOver(folder, await folder.list())
    if (!isFailing || performance.now() - this.mergedAt < this.options.timings.mergeMs) return
    this.mergedAt = performance.now()
    for (const isCold of [true, false]) while (await this.mergeSome(isCold)) await this.showLife(folder)
  }

  /** A full disk must not stop what follows. */
  private async showLife(folder: SpoolFolder): Promise<void> {
    await folder.touchAlive().catch((err: unknown) => {
      this.options.onProblem(`the spool cannot be written: ${textOf(err)}`)
    })
  }

  private takeOver(folder: SpoolFolder, { files, silentMs, unfinished, rejectedBytes }: Listing): void {
    const isDead = (nonce: string) =>
      nonce !== folder.nonce && (silentMs.get(nonce) ?? Infinity) >= this.options.timings.deadMs
    this.rejectedBytes = rejectedBytes
    const strange = files.filter(
      ({ text, nonce }) => nonce !== folder.nonce && !this.files.has(text) && !this.removed.has(text),
    )
    const left = strange.filter(({ text, nonce }) => isDead(nonce) && !this.leftAlone.has(text))
    for (const name of left) {
      const file = spoolFile(name, { isCold: true, epoch: this.options.flushes.epoch })
      this.options.flushes.add(file.epoch, file.left)
      this.takenOver += name.events
      this.track(file)
      this.cold.push(file)
    }
    if (left.length > 0) this.cold.sort((a, b) => (a.name.text < b.name.text ? -1 : 1))
    this.othersBytes = strange
      .filter(({ text }) => !this.files.has(text))
      .reduce((sum, { bytes }) => sum + bytes, 0)
    for (const { text, nonce } of unfinished)
      if (isDead(nonce)) void folder.removeUnfinished(text).catch(ignore)
    for (const nonce of silentMs.keys()) if (isDead(nonce)) void folder.removeAlive(nonce).catch(ignore)
  }

  /**
   * Writes the events of small files as one file and then deletes the small ones. A crash in between leaves both, so
   * that some events are sent twice.
   *
   * @returns whether there may be more to merge
   */
  private async mergeSome(isCold: boolean): Promise<boolean> {
    const files = this.filesToMerge(isCold)
    if (files.length < 2) return false
    for (const file of files) file.isBusy = true
    try {
      const content: Buffer[] = []
      let events = 0
      const read: SpoolFile[] = []
      for (const file of files) {
        const bytes = await this.readFile(file)
        const { whole, lines, damaged } = checkLines(bytes ?? Buffer.alloc(0))
        await this.keepDamaged(file, damaged)
        // A file that is gone was sent by another process. Events in memory are sent again by this one.
        if (isCold) this.recount(file, lines)
        if (bytes === undefined) continue
        read.push(file)
        content.push(...whole)
        events += lines
      }
      if (isCold) this.cold = this.cold.filter((file) => !files.includes(file) || read.includes(file))
      if (events === 0) return true
      const epoch = read.reduce((least, file) => Math.min(least, file.epoch), Infinity)
      const merged = await this.writeLines(content, events, { isCold, epoch })
      this.options.reached('files-merged')
      this.replace(read, merged)
      return true
    } catch (err) {
      this.noteDisk(err)
      return false
    } finally {
      for (const file of files) {
        file.isBusy = false
        this.removeIfDone(file)
      }
    }
  }

  private filesToMerge(isCold: boolean): SpoolFile[] {
    const small = [...this.files.values()]
      .filter((file) => file.isCold === isCold && !file.isBusy && !file.stays && file.left > 0)
      .filter(({ name }) => name.bytes < SMALL_BYTES)
      .sort((a, b) => (a.name.text < b.name.text ? -1 : 1))
    let bytes = 0
    return small.filter(({ name }) => (bytes += name.bytes) <= MERGED_BYTES_MAX)
  }

  private replace(read: readonly SpoolFile[], merged: SpoolFile): void {
    merged.left = read.reduce((sum, { left }) => sum + left, 0)
    for (const file of read) {
      this.options.flushes.move(file.epoch, merged.epoch, file.isCold ? file.left : 0)
      file.into = merged
      this.remove(file)
    }
    if (merged.isCold) {
      this.cold = [merged, ...this.cold.filter(({ into }) => into === undefined)]
      this.cold.sort((a, b) => (a.name.text < b.name.text ? -1 : 1))
    }
    this.removeIfDone(merged)
  }

  /** Ends the sign of life, so that others take what is left over. */
  async close(): Promise<void> {
    clearInterval(this.timer)
    await this.ticking
    await Promise.all(this.removing)
    if (this.folder === undefined) return
    await this.folder.removeAlive()
    await this.folder.close()
  }
}

const ignore = () => undefined

const textOf = (err: unknown): string => (err instanceof Error ? err.message : String(err))
