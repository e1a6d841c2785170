import { randomFillSync } from 'node:crypto'

/**
 * Random bytes as hexadecimal digits, from the system's random source.
 *
 * Why a pool: one call for each id took a quarter of the gateway's time; one for thousands of ids takes next to none.
 */
const pool = Buffer.alloc(65_536)
let used = pool.length

/** @param bytes how many random bytes, at most 1,024 */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const text = pool.toString('hex', used, used + bytes)
  used += bytes
  return text
}
