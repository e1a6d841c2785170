import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { takeOf } from '../../shared/http/limit-rate.ts'
import type { RateLimit } from '../../shared/rate-limit/rate-limit.ts'
import { type Credentials, refusedUser, tooManyGuesses } from './credentials.ts'
import type { ClickHouseException } from './exception.ts'

/** How many pairs of an address and a name are kept for which too many passwords were tried. */
const BLOCKED_MAX = 20_000
/**
 * How many digits of a name's digest tell it from other names. An address that invents many names thus has at most 16
 * to the power of this counters, and cannot fill the memory.
 */
const NAME_DIGITS = 4

/** An error, and headers to send with it. */
export interface Refusal {
  exception: ClickHouseException
  headers: Record<string, string>
}

/**
 * Limits how many wrong passwords an address may try for a name. After that, every password for this name from this
 * address is refused until the window of the limit ends. Other names, and this name from other addresses, are not
 * affected.
 */
export function passwordGuesses(limit: RateLimit) {
  const blocked = new LRUCache<string, number>({ max: BLOCKED_MAX })
  return {
    /**
     * Called after the password was compared, so that a right password takes as long as a wrong one.
     *
     * @returns undefined when the password is right and may be used
     */
    async refusalOf(address: string, given: Credentials, isRight: boolean): Promise<Refusal | undefined> {
      const key = keyOf(address, given)
      const leftMs = (blocked.get(key) ?? 0) - performance.now()
      if (leftMs > 0) {
        const seconds = Math.ceil(leftMs / 1_000)
        return { exception: tooManyGuesses(given, seconds), headers: { 'Retry-After': String(seconds) } }
      }
      if (isRight) return undefined
      const { isWithin, headers } = await takeOf(limit, key, 1)
      if (!isWithin) blocked.set(key, performance.now() + Number(headers['Retry-After']) * 1_000)
      return { exception: refusedUser(given), headers }
    },
  }
}

export type PasswordGuesses = ReturnType<typeof passwordGuesses>

const keyOf = (address: string, { user }: Credentials): string =>
  `${address} ${user === undefined ? 'token' : hash('sha256', user, 'hex').slice(0, NAME_DIGITS)}`
