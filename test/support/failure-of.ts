/** @returns the error of the work; undefined when it succeeds */
export const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (err: unknown) => err,
  )
