import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inEveryNamespace } from '../../shared/postgres/core/transaction.ts'
import { everyRevisionRepository } from '../../shared/postgres/event-revisions.ts'
import type { GatewayPoint } from './crash-points.ts'
import type { RevisionSender } from './send-revisions.ts'

export interface RelayRevisionsDeps {
  pool: Pool
  sender: RevisionSender
  metrics: Metrics
  log: Logger
  /** Called at each crash point. */
  reached?: Reached<GatewayPoint>
}

/** How many revisions are sent at a time. Each has up to 16 KiB of properties. */
const REVISIONS_AT_ONCE = 500
/** Younger revisions may still be sent by the request that made them. */
const LEFT_BEHIND_AFTER_MS = 2_000
const LOOK_EVERY_MS = 1_000
const BACK_OFF_MAX_MS = 30_000
/** The next relay sends again whatever was under way, so closing need not wait long. */
const CLOSE_MS = 2_000

/**
 * Sends corrections that were committed and never sent: their gateway crashed, or the event log was away. They are
 * marked after they are sent. After a crash in between, or with several relays at once, they are sent twice, which
 * changes nothing.
 */
export function relayRevisions({ pool, sender, metrics, log, reached }: RelayRevisionsDeps): Closeable {
  const relayed = metrics.counter(
    'tally_gateway_corrections_relayed_total',
    'Corrections that were sent by the relay, because the request that made them did not.',
  )()
  const oldest = metrics.gauge(
    'tally_gateway_corrections_unsent_seconds',
    'How long ago the oldest correction was made that the event log is not known to have.',
  )
  const stopping = new AbortController()
  const { signal } = stopping
  const relaySome = async (): Promise<boolean> => {
    const { revisions, ageS } = await inEveryNamespace(pool, (db) =>
      everyRevisionRepository(db).listUnsent(LEFT_BEHIND_AFTER_MS, REVISIONS_AT_ONCE),
    )
    oldest.set([], ageS)
    if (revisions.length === 0) return false
    await sender.send(revisions)
    reached?.('gateway-relayed')
    await sender.markSent(revisions)
    relayed(revisions.length)
    log.info({ corrections: revisions.length }, 'sent corrections that were left behind')
    return revisions.length === REVISIONS_AT_ONCE
  }
  const run = async () => {
    let waitMs = LOOK_EVERY_MS
    while (await sleep(waitMs, true, { signal }).catch(() => false)) {
      try {
        while (!signal.aborted && (await relaySome()));
        waitMs = LOOK_EVERY_MS
      } catch (err) {
        oldest.set([], NaN)
        if (waitMs === LOOK_EVERY_MS) log.warn({ err }, 'could not send corrections on, trying again')
        waitMs = Math.min(waitMs * 2, BACK_OFF_MAX_MS)
      }
    }
  }
  const running = run()
  return {
    name: 'relay of corrections',
    async close() {
      stopping.abort()
      await Promise.race([running, sleep(CLOSE_MS, undefined, { ref: false })])
    },
  }
}
