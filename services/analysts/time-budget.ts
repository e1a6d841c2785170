import { ClickHouseException } from './exception.ts'

/** The time that the steps of one query may take together; what it waits for between them is no part of it. */
export interface TimeBudget {
  /**
   * Does a step, whose time is taken off.
   *
   * @param work is given the seconds that are left, more than none
   * @throws ClickHouseException when none are
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
