/**
 * The result of a promise, if it settles in time. If it does not, the work behind the promise goes on, and its result
 * is ignored.
 *
 * @param message the message of the error
 * @throws Error with this message when the time is over
 */
export async function withinMs<T>(timeoutMs: number, answer: Promise<T>, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timedOut = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(message))
    }, timeoutMs)
  })
  try {
    return await Promise.race([answer, timedOut])
  } finally {
    clearTimeout(timer)
  }
}
