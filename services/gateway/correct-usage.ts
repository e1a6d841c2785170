import type { Caller } from '../../shared/domain/api-key.ts'
import { changesNothing, correctEvent, type EventRevision } from '../../shared/domain/correct-event.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { DomainError } from '../../shared/errors/domain-error.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Pool, PoolClient } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { eventRevisionRepository } from '../../shared/postgres/event-revisions.ts'
import type { Clock, Micros } from '../../shared/time/microsecond-clock.ts'
import type { FindStoredEvents } from '../../shared/usage/stored-events.ts'
import type { GatewayPoint } from './crash-points.ts'
import { type Fault, faultList, impossible, throwFaults } from './faults.ts'
import { findLostDigits } from './reported-event.ts'
import { checkCorrection, type CheckedCorrection, type RequestedCorrection } from './requested-correction.ts'
import type { RevisionSender } from './send-revisions.ts'

export interface CorrectUsageDeps {
  pool: Pool
  findStored: FindStoredEvents
  sender: RevisionSender
  clock: Clock
  log: Logger
  /** Called at each crash point. */
  reached?: Reached<GatewayPoint>
}

interface CorrectionRequest {
  caller: Caller
  corrections: readonly RequestedCorrection[]
  /** The bytes of the whole request. */
  body: Buffer
  /** The prefix of a correction in faults: `corrections[3].`; undefined if the path of the request names the event. */
  label: ((index: number) => string) | undefined
}

export type CorrectUsage = (request: CorrectionRequest) => Promise<UsageEvent[]>

/**
 * Corrects usage events, all of them or none. Each revision is committed to PostgreSQL, then its row is appended to the
 * event log. When the promise resolves, both are durable. If the log or the process fails in between,
 * relay-revisions.ts sends the rows. A repeat of the request sends the rows, too, and changes nothing else.
 *
 * @returns the events after their corrections, in the order given
 * @throws DomainError malformed, unprocessable, not_found, conflict or overloaded when nothing was written or the log
 *   took nothing; unavailable when it is unknown whether the log took the rows
 */
export function correctUsage(deps: CorrectUsageDeps): CorrectUsage {
  const { pool, findStored, sender, clock, log, reached = () => undefined } = deps
  return async (request) => {
    const { namespaceId, keyId } = request.caller
    const checked = checkAll(request)
    const ids = checked.map(({ eventId }) => eventId)
    const reports = await findReports(pool, namespaceId, ids, findStored)
    requireExisting(ids, reports, request.label)
    const revisions = await inNamespace(pool, namespaceId, async (db) => {
      const { before, takenAt } = await takeEvents(db, namespaceId, checked, reports.stored)
      requireNotVoided(checked, before, request.label)
      const now = Math.max(clock(), takenAt)
      const made = checked.flatMap(({ eventId, correction }) => {
        const found = before.get(eventId)
        if (found === undefined || changesNothing(found.event, correction)) return []
        const event = correctEvent(found.event, correction, now)
        return [{ revision: found.revision + 1, event, keyId, isSent: false }]
      })
      if (made.length > 0) await eventRevisionRepository(db).insert(namespaceId, made)
      reached('gateway-correcting')
      for (const revision of made) before.set(revision.event.id, revision)
      return before
    })
    reached('gateway-corrected')
    // This includes revisions of an earlier request that failed before it sent them.
    const unsent = [...revisions.values()].filter(({ revision, isSent }) => revision > 0 && !isSent)
    if (unsent.length > 0) {
      const sent = sender.send(unsent)
      reached('gateway-sending')
      await sent
      reached('gateway-sent')
      await sender.markSent(unsent).catch((err: unknown) => {
        log.warn({ err }, 'could not mark corrections as sent: they will be sent again')
      })
      reached('gateway-marked')
    }
    return ids.map((id) => {
      const event = revisions.get(id)?.event ?? reports.stored.get(id)
      if (event === undefined) throw new Error(`no event ${id} after its correction`)
      return event
    })
  }
}

function checkAll({ corrections, body, label = ofOne }: CorrectionRequest): CheckedCorrection[] {
  const faults = new Map<number, Fault>()
  const checked: CheckedCorrection[] = []
  const firsts = new Map<string, number>()
  for (const [index, correction] of corrections.entries()) {
    const first = firsts.get(correction.event_id)
    if (first === undefined) firsts.set(correction.event_id, index)
    const result =
      first === undefined
        ? checkCorrection(correction)
        : impossible(
            `event_id: the same as ${label(first)}event_id; a request can correct an event only once`,
          )
    if ('code' in result) faults.set(index, result)
    else checked.push(result)
  }
  if (faults.size === 0 && checked.some(({ hasNumber }) => hasNumber))
    for (const [index, fault] of findLostDigits(body)) faults.set(index, fault)
  throwFaults(faults, label, NOUN)
  return checked
}

const NOUN = 'corrections'
const ofOne = (): string => ''

/** Finds out which events have revisions, and reads the reports of the others. */
async function findReports(
  pool: Pool,
  namespaceId: string,
  ids: readonly string[],
  findStored: FindStoredEvents,
): Promise<{ corrected: ReadonlySet<string>; stored: Map<string, UsageEvent> }> {
  const newest = await inNamespace(pool, namespaceId, (db) =>
    eventRevisionRepository(db).listNewest(namespaceId, ids),
  )
  const others = ids.filter((id) => !newest.has(id))
  return { corrected: new Set(newest.keys()), stored: await findStored(namespaceId, others) }
}

function requireExisting(
  ids: readonly string[],
  { corrected, stored }: Awaited<ReturnType<typeof findReports>>,
  label: CorrectionRequest['label'],
): void {
  const faults = new Map<number, Fault>()
  for (const [index, id] of ids.entries())
    if (!corrected.has(id) && !stored.has(id))
      faults.set(index, impossible('event_id: there is no such event'))
  if (faults.size > 0 && label === undefined) throw new DomainError('not_found', 'no such event')
  throwFaults(faults, label ?? ofOne, NOUN)
}

/**
 * Locks the events until the transaction ends, and reads their newest revisions and the time of the lock. It leaves out
 * an event whose first correction changes nothing: such an event has no revision, and only ClickHouse has its content.
 */
async function takeEvents(
  db: PoolClient,
  namespaceId: string,
  checked: readonly CheckedCorrection[],
  stored: ReadonlyMap<string, UsageEvent>,
): Promise<{ before: Map<string, EventRevision>; takenAt: Micros }> {
  const wanted = checked.filter(({ eventId, correction }) => {
    const event = stored.get(eventId)
    return event === undefined || !changesNothing(event, correction)
  })
  if (wanted.length === 0) return { before: new Map(), takenAt: 0 }
  const ids = wanted.map(({ eventId }) => eventId)
  // If ClickHouse shows a corrected event, the correction came after findReports, and PostgreSQL has its revisions.
  const reports = ids.flatMap((id) => stored.get(id) ?? []).filter(({ correctedAt }) => correctedAt === null)
  const revisions = eventRevisionRepository(db)
  const takenAt = await revisions.take(namespaceId, ids, reports)
  const newest = await revisions.listNewest(namespaceId, ids)
  for (const id of ids)
    if (!newest.has(id)) throw new Error(`ClickHouse has a correction of ${id} that PostgreSQL does not have`)
  return { before: newest, takenAt }
}

function requireNotVoided(
  checked: readonly CheckedCorrection[],
  before: ReadonlyMap<string, EventRevision>,
  label: CorrectionRequest['label'] = ofOne,
): void {
  const voided = [...checked.entries()].flatMap(([index, { eventId, correction }]) =>
    before.get(eventId)?.event.voided === true && !('void' in correction)
      ? [`${label(index)}event_id: this event was voided, which cannot be taken back`]
      : [],
  )
  if (voided.length > 0) throw new DomainError('conflict', faultList(voided, NOUN))
}
