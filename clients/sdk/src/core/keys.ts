/** The API key, or a function that gets it, for example from a store of secrets. */
export type ApiKey = string | (() => string | Promise<string>)

/** Gives the key of each request. */
export interface KeySource {
  get(): Promise<string>
  /**
   * Asks again after a key was refused.
   * @returns another key; undefined when there is none
   */
  renew(refused: string): Promise<string | undefined>
  /** Lets the next request ask again, if the function has not returned. */
  giveUp(): void
}

/**
 * Keeps the key that a function returns until Tally refuses it. Requests at the same time share a call.
 *
 * @param allow called with each key before it is used; throws when it must not be
 */
export function keySource(apiKey: ApiKey, allow: (key: string) => void): KeySource {
  const check = (given: unknown): string => {
    const key = typeof given === 'string' ? given.trim() : ''
    if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError('apiKey must be an API key of Tally')
    allow(key)
    return key
  }
  if (typeof apiKey === 'string') {
    const key = check(apiKey)
    return {
      get: () => Promise.resolve(key),
      renew: () => Promise.resolve(undefined),
      giveUp: () => undefined,
    }
  }
  let asked: Promise<string> | undefined
  let isAsking = false
  const ask = (): Promise<string> => {
    const asking: Promise<string> = Promise.resolve()
      .then(apiKey)
      .then(check)
      .finally(() => {
        if (asked === asking) isAsking = false
      })
      .catch((err: unknown) => {
        if (asked === asking) asked = undefined // the next request asks again
        throw err
      })
    asked = asking
    isAsking = true
    return asking
  }
  return {
    get: () => asked ?? ask(),
    async renew(refused) {
      const current = await (asked ?? ask())
      if (current !== refused) return current // another request has asked meanwhile
      const renewed = await ask()
      return renewed === refused ? undefined : renewed
    },
    giveUp() {
      if (isAsking) asked = undefined
    },
  }
}
