import type { Closeable } from '../../lifecycle/close-all.ts'
import { repeat } from '../../lifecycle/repeat.ts'
import type { Logger } from '../../logging/logger.ts'
import { readClock } from './clock.ts'
import type { Queryable } from './pool.ts'

/** The database's clock, without a query for each reading. */
export interface FollowedClock extends Closeable {
  /** Milliseconds since 1970. */
  nowMs: () => number
}

interface FollowedBy {
  wallMs?: () => number
  /** A clock that only counts forward; nobody can set it. */
  monotonicMs?: () => number
}

const LOOK_EVERY_MS = 1_000
/** The largest difference between clocks that are set correctly. */
const DIFFERENCE_MAX_MS = 2_000

/**
 * Follows the database's clock until it is closed, because decisions about money must use one clock on every machine.
 *
 * As long as this machine's clock agrees with the database's clock, nowMs uses this machine's clock. It is more precise
 * than an answer from the database. If this machine's clock differs, or was set, nowMs uses the database's last answer.
 * It adds the time that has passed since then on the monotonic clock, which nobody can set.
 *
 * @throws when the database does not answer the first time
 */
export async function followClock(
  db: Queryable,
  log: Logger,
  { wallMs = Date.now, monotonicMs = () => performance.now() }: FollowedBy = {},
): Promise<FollowedClock> {
  let measured = { ms: 0, at: 0 }
  let isOff = false
  const theirsMs = () => measured.ms + monotonicMs() - measured.at
  const agrees = (ours: number) => Math.abs(ours - theirsMs()) <= DIFFERENCE_MAX_MS
  const look = async () => {
    const before = monotonicMs()
    const theirs = (await readClock(db)).getTime()
    const after = monotonicMs()
    measured = { ms: theirs, at: (before + after) / 2 }
    const byMs = Math.round(wallMs() - theirsMs())
    const wasOff = isOff
    isOff = !agrees(wallMs())
    if (isOff && !wasOff)
      log.error({ byMs }, "the clock of this machine differs from PostgreSQL's; PostgreSQL's time is used")
    else if (wasOff && !isOff) log.info("the clock of this machine agrees with PostgreSQL's again")
  }
  await look()
  const following = repeat('clock of PostgreSQL', LOOK_EVERY_MS, look, (err) => {
    log.debug({ err }, "could not read PostgreSQL's clock")
  })
  return {
    ...following,
    nowMs() {
      const ours = wallMs()
      return agrees(ours) ? ours : theirsMs()
    },
  }
}
