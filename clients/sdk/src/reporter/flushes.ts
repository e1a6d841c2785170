/** Counts the events that are not settled, so that a flush can wait for those that were added before it. */
export class Flushes {
  /** Events by the number of flushes before them. */
  private readonly open = new Map<number, number>()
  private waiting: { epoch: number; resolve: () => void }[] = []
  /** The number of flushes so far. */
  epoch = 0

  add(epoch: number, events: number): void {
    if (events > 0) this.open.set(epoch, (this.open.get(epoch) ?? 0) + events)
  }

  done(epoch: number, events: number): void {
    if (events <= 0) return
    const left = (this.open.get(epoch) ?? 0) - events
    if (left > 0) this.open.set(epoch, left)
    else {
      this.open.delete(epoch)
      this.wake()
    }
  }

  /** Counts events that are settled. Most of them have the same flushes before them. */
  doneAll(events: readonly { readonly epoch: number }[]): void {
    let [epoch, count] = [0, 0]
    for (const event of events) {
      if (event.epoch !== epoch) {
        this.done(epoch, count)
        ;[epoch, count] = [event.epoch, 0]
      }
      count++
    }
    this.done(epoch, count)
  }

  /** Counts an event with earlier ones. */
  move(from: number, to: number, events: number): void {
    if (from === to) return
    this.add(to, events)
    this.done(from, events)
  }

  get isEmpty(): boolean {
    return this.open.size === 0
  }

  /** @returns when all events so far are settled */
  flush(): Promise<void> {
    const epoch = this.epoch++
    return new Promise((resolve) => {
      this.waiting.push({ epoch, resolve })
      this.wake()
    })
  }

  private wake(): void {
    const oldest = Math.min(...this.open.keys())
    const done = this.waiting.filter(({ epoch }) => epoch < oldest)
    this.waiting = this.waiting.filter(({ epoch }) => epoch >= oldest)
    for (const { resolve } of done) resolve()
  }
}
