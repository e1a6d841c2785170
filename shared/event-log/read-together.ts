/**
 * Lets callers that arrive during a read share the next read. Each caller gets a read that began after its call, and at
 * most one read is under way. So any number of polling callers cost no more than one caller.
 */
export function readTogether<T>(read: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> | undefined
  let next: Promise<T> | undefined
  const begin = (): Promise<T> => {
    next = undefined
    const reading = read()
    const settled = reading.catch(() => undefined)
    current = settled
    void settled.then(() => {
      if (current === settled) current = undefined
    })
    return reading
  }
  return () => {
    if (current === undefined) return begin()
    next ??= current.then(begin)
    return next
  }
}
