import { ClickHouseException } from './exception.ts'

/** The time that the steps of one query may take together. Waiting between them does not count. */
export interface TimeBudget {
  /**
   * Runs a step and subtracts its time.
   *
   * @param work gets the seconds that are left, always more than 0
   * @throws ClickHouseException when no time is left
   */
  spend<T>(work: (leftS: number) => Promise<T>): Promise<T>
}

export function timeBudget(seconds: number): TimeBudget {
  let spentMs = 0
  return {
    async spend(work) {
      const leftMs = Math.floor(seconds * 1_000 - spentMs)
      if (leftMs <= 0)
        throw new ClickHouseException('TIMEOUT_EXCEEDED', `Timeout exceeded: maximum: ${seconds * 1_000} ms.`)
      const startedAt = performance.now()
      try {
        return await work(leftMs / 1_000)
      } finally {
        spentMs += performance.now() - startedAt
      }
    },
  }
}
