import { randomFillSync } from 'node:crypto'

/**
 * Random bytes as hexadecimal digits, from the system's random source.
 *
 * Why a pool: calling the random source for each id is slow. One call for thousands of ids takes little time per id.
 */
const pool = Buffer.alloc(65_536)
let used = pool.length

/** @param bytes the number of random bytes, at most 1,024 */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const text = pool.toString('hex', used, used + bytes)
  used += bytes
  return text
}
