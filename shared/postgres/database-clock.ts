import type { Queryable } from './pool.ts'

/** The time of the database, as far as it can be told from here: between these two, in milliseconds. */
interface Bounds {
  earliest: number
  latest: number
}

/** A clock that all processes on one database share. */
export interface DatabaseClock {
  /** @returns undefined when it was not read lately; it is then read, in the background */
  now(): Bounds | undefined
}

interface Reading {
  databaseMs: number
  askedAt: number
  answeredAt: number
}

const READ_AGAIN_MS = 15_000
/** A reading is not relied on for longer: the server may have been replaced by one whose clock differs. */
const RELIED_ON_MS = 60_000

const READ = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms'

/**
 * Reads the clock of PostgreSQL now and then, and goes on from there by the monotonic clock of this machine. What is not
 * known, the time that the answer took on its way, is left as a range.
 */
export function databaseClock(db: Queryable): DatabaseClock {
  let last: Reading | undefined
  let isReading = false
  const read = async () => {
    isReading = true
    const askedAt = performance.now()
    try {
      const { rows } = await db.query<{ ms: number }>(READ)
      const databaseMs = rows[0]?.ms
      if (databaseMs !== undefined) last = { databaseMs, askedAt, answeredAt: performance.now() }
    } finally {
      isReading = false
    }
  }
  return {
    now() {
      const at = performance.now()
      const ageMs = last === undefined ? Infinity : at - last.askedAt
      if (ageMs > READ_AGAIN_MS && !isReading) read().catch(() => undefined) // PostgreSQL is away: the next call tries again
      if (last === undefined || ageMs > RELIED_ON_MS) return undefined
      const { databaseMs, askedAt, answeredAt } = last
      return { earliest: databaseMs + at - answeredAt, latest: databaseMs + at - askedAt }
    },
  }
}
