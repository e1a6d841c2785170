import type { RetryRule } from './operation-facts.ts'

const FIRST_MS = 500
const LONGEST_MS = 8_000
/** If Tally asks for a longer wait, the caller decides. */
export const RETRY_AFTER_MAX_MS = 60_000

/** The statuses of requests that are sent again. */
const RETRIED: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])
/** The statuses which mean that nothing was written. */
const NOTHING_WRITTEN: ReadonlySet<number> = new Set([408, 429])

/**
 * Computes how long to wait before a request is sent again. A part of it is random, so that clients that failed together
 * do not try again together.
 *
 * @param failures how often the request failed before this failure, from 0
 * @param random from 0 up to 1
 * @param retryAfterMs what the answer asks for
 */
export function retryWaitMs(failures: number, random: number, retryAfterMs: number | undefined): number {
  const full = Math.min(FIRST_MS * 2 ** failures, LONGEST_MS)
  return Math.max(full / 2 + (random * full) / 2, retryAfterMs ?? 0)
}

/**
 * Whether a request may be sent again after an answer, or after none.
 *
 * @param status undefined when there was no whole answer
 */
export function mayRetry(rule: RetryRule, status: number | undefined): boolean {
  if (status === undefined) return rule !== 'never'
  return rule === 'never' ? NOTHING_WRITTEN.has(status) : RETRIED.has(status)
}

/** Whether a failed attempt may have been done all the same. */
export const mayBeDone = (status: number | undefined): boolean =>
  status === undefined || !NOTHING_WRITTEN.has(status)

/**
 * Reads a Retry-After header, which has seconds or a date.
 *
 * @param now milliseconds since 1970
 * @returns undefined when there is none, or when it is not valid
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1_000
  const at = parseDate(header)
  return at === undefined ? undefined : Math.max(at - now, 0)
}

/** @returns milliseconds since 1970; undefined when there is no valid date */
export function parseDate(header: string | undefined): number | undefined {
  // JavaScript reads a date in much else, such as -1.
  const at = header?.endsWith('GMT') === true ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}
