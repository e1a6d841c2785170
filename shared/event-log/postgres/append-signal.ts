/**
 * Wakes the consumers of this process when the process appends. Consumers in other processes poll at short intervals.
 */
export class AppendSignal {
  private readonly waiters = new Set<() => void>()

  fire(): void {
    for (const wake of this.waiters) wake()
  }

  /** Resolves when records are appended, or after the given time. */
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
