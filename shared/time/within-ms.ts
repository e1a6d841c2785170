/**
 * What a promise comes to, unless that takes too long. The work behind it goes on then, and nobody hears of it.
 *
 * @param late what to say
 * @throws Error with that when the time is over
 */
export async function withinMs<T>(timeoutMs: number, answer: Promise<T>, late: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(late))
    }, timeoutMs)
  })
  try {
    return await Promise.race([answer, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
