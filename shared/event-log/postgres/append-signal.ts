/** Wakes the consumers of this process when it appends; those of other processes look every few milliseconds. */
export class AppendSignal {
  private readonly waiters = new Set<() => void>()

  fire(): void {
    for (const wake of this.waiters) wake()
  }

  /** Resolves when something is appended, or after a while. */
  wait(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.waiters.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, waitMs)
      this.waiters.add(wake)
    })
  }
}
