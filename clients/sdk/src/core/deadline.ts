/** Why a request ended early. */
export type Ended = 'deadline' | 'aborted'

/** Thrown by withDeadline and wait when they end early. */
export class EndedEarly extends Error {
  readonly why: Ended
  constructor(why: Ended, reason?: unknown) {
    super(why, { cause: reason })
    this.why = why
  }
}

/** The longest time of a timer; a longer one would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * Does work until a deadline, or until the caller's signal. When it returns, neither a timer nor a listener is left.
 *
 * @param work gets a signal that ends its connection. It is not waited for after that
 * @throws EndedEarly
 */
export async function withDeadline<T>(
  timeoutMs: number,
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (caller?.aborted === true) throw new EndedEarly('aborted', caller.reason)
  const controller = new AbortController()
  let end: (ended: EndedEarly) => void = () => undefined
  const ended = new Promise<never>((_, reject) => {
    end = (early) => {
      reject(early)
      controller.abort(early)
    }
  })
  const onAbort = () => {
    end(new EndedEarly('aborted', caller?.reason))
  }
  caller?.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(
    () => {
      end(new EndedEarly('deadline'))
    },
    Math.min(timeoutMs, TIMER_MS_MAX),
  )
  try {
    return await Promise.race([work(controller.signal), ended])
  } finally {
    clearTimeout(timer)
    caller?.removeEventListener('abort', onAbort)
  }
}

/**
 * Waits, until the caller's signal at most.
 * @throws EndedEarly
 */
export const wait = (ms: number, caller: AbortSignal | undefined): Promise<void> =>
  withDeadline(ms, caller, () => new Promise<void>(() => undefined)).catch((err: unknown) => {
    if (!(err instanceof EndedEarly) || err.why !== 'deadline') throw err
  })
