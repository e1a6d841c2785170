const FIRST_MS = 200
const LONGEST_MS = 10_000

/**
 * Computes how long to wait before a request is sent again. The wait doubles each time, up to ten seconds. A part of it
 * is random, so that clients that were refused together do not try again together.
 *
 * @param attempt how often the request failed before, from 0
 * @param random from 0 up to 1
 * @returns milliseconds
 */
export function backOffMs(attempt: number, random: number): number {
  const full = Math.min(FIRST_MS * 2 ** attempt, LONGEST_MS)
  return full / 2 + (random * full) / 2
}

/**
 * Reads a Retry-After header, which contains seconds or a date.
 *
 * @param now milliseconds since 1970
 * @returns milliseconds; 0 when there is no header or it is not valid
 */
export function parseRetryAfter(header: string | undefined, now: number): number {
  if (header === undefined) return 0
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1_000
  const at = Date.parse(header)
  return Number.isNaN(at) ? 0 : Math.max(at - now, 0)
}
