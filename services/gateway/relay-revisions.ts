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
/** The request that made a revision may still send it until the revision has this age. */
const LEFT_BEHIND_AFTER_MS = 2_000
const LOOK_EVERY_MS = 1_000
const BACK_OFF_MAX_MS = 30_000
/** Closing need not wait long, because the next relay sends unfinished revisions again. */
const CLOSE_MS = 2_000

/**
 * Sends corrections that were committed and never sent, because their gateway crashed or the event log did not answer.
 * It marks them after it has sent them. After a crash in between, or with several relays at once, a correction is sent
 * twice. This changes nothing, because both rows are the same.
 */
export function relayRevisions({ pool, sender, metrics, log, reached }: RelayRevisionsDeps): Closeable {
  const relayed = metrics.counter(
    'tally_gateway_corrections_relayed_total',
    'Corrections that the relay sent, because the request that made them did not.',
  )()
  const oldest = metrics.gauge(
    'tally_gateway_corrections_unsent_seconds',
    'The age of the oldest correction that the event log has not confirmed.',
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
    log.info({ corrections: revisions.length }, 'sent corrections that earlier requests left unsent')
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
        if (waitMs === LOOK_EVERY_MS) log.warn({ err }, 'could not send unsent corrections, trying again')
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
