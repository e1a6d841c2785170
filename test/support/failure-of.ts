/** @returns what the work fails with; undefined when it does not */
export const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (err: unknown) => err,
  )
