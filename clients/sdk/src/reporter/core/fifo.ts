/** A queue whose first item can be taken without moving the others. */
export class Fifo<T> {
  private items: T[] = []
  private head = 0

  get size(): number {
    return this.items.length - this.head
  }

  get first(): T | undefined {
    return this.items[this.head]
  }

  push(item: T): void {
    this.items.push(item)
  }

  shift(): T | undefined {
    const item = this.items[this.head]
    if (item === undefined) return undefined
    this.head++
    if (this.head > COMPACT_FROM && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head)
      this.head = 0
    }
    return item
  }

  /** Keeps the items that pass, in their order, and returns the others. */
  sift(passes: (item: T) => boolean): T[] {
    const left = this.items.slice(this.head)
    this.items = []
    this.head = 0
    const others: T[] = []
    for (const item of left) (passes(item) ? this.items : others).push(item)
    return others
  }
}

const COMPACT_FROM = 1_024
