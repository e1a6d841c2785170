export interface GroupWriterOptions<E> {
  /** How long a group waits for more events. */
  gatherMs: () => number
  /** A group of this size does not wait. */
  gatherBytes: number
  /** No group is larger, unless a single event is. */
  groupBytesMax: number
  /** Writes a group. It must not be rejected. */
  write: (events: readonly E[]) => Promise<void>
}

/** Gathers events into groups, and writes one group at a time. What arrives meanwhile is the next group. */
export class GroupWriter<E extends { readonly bytes: number }> {
  private readonly options: GroupWriterOptions<E>
  private pending: E[] = []
  private pendingBytes = 0
  private since = 0
  private writing: { bytes: number; events: readonly E[] } | undefined
  private timer: NodeJS.Timeout | undefined
  private isUrgent = false
  private idle: (() => void)[] = []

  constructor(options: GroupWriterOptions<E>) {
    this.options = options
  }

  /** All that is not written yet. */
  get bytes(): number {
    return this.pendingBytes + (this.writing?.bytes ?? 0)
  }

  get events(): number {
    return this.pending.length + (this.writing?.events.length ?? 0)
  }

  add(event: E): void {
    if (this.pending.length === 0) this.since = performance.now()
    this.pending.push(event)
    this.pendingBytes += event.bytes
    this.goOn()
  }

  /** Writes without waiting for more. @returns when nothing is left */
  settle(): Promise<void> {
    if (this.events === 0) return Promise.resolve()
    this.isUrgent = true
    this.goOn()
    return new Promise((resolve) => this.idle.push(resolve))
  }

  /** Takes back what is not written. A group that is being written may be on the disk as well. */
  takeAll(): E[] {
    clearTimeout(this.timer)
    this.pendingBytes = 0
    return [...(this.writing?.events ?? []), ...this.pending.splice(0)]
  }

  private goOn(): void {
    if (this.writing !== undefined || this.pending.length === 0) return
    const { gatherBytes, gatherMs } = this.options
    const waitMs = this.since + gatherMs() - performance.now()
    if (this.isUrgent || this.pendingBytes >= gatherBytes || waitMs <= 0) this.writeGroup()
    else
      this.timer ??= setTimeout(() => {
        this.timer = undefined
        this.goOn()
      }, waitMs).unref()
  }

  private writeGroup(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    const group = this.take()
    this.writing = { bytes: group.reduce((sum, { bytes }) => sum + bytes, 0), events: group }
    this.pendingBytes -= this.writing.bytes
    void this.options.write(group).finally(() => {
      this.writing = undefined
      if (this.pending.length > 0) this.goOn()
      else this.rest()
    })
  }

  private rest(): void {
    this.isUrgent = false
    for (const resolve of this.idle.splice(0)) resolve()
  }

  private take(): E[] {
    let bytes = 0
    const end = this.pending.findIndex((event, index) => {
      bytes += event.bytes
      return index > 0 && bytes > this.options.groupBytesMax
    })
    if (end !== -1) return this.pending.splice(0, end)
    const all = this.pending
    this.pending = []
    return all
  }
}
