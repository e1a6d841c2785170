/**
 * The result of a promise, unless it takes too long. After that time the work behind the promise goes on, and its
 * result is ignored.
 *
 * @param message of the error
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
