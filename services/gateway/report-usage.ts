import type { Caller } from '../../shared/domain/api-key.ts'
import {
  contentOf,
  type IdentityKey,
  liesTooFarAhead,
  reportVersion,
  type UsageEvent,
  usageEventId,
} from '../../shared/domain/usage-event.ts'
import { isMetric } from '../../shared/domain/usage-source.ts'
import { DomainError } from '../../shared/errors/domain-error.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import { awaitNextSlice } from '../../shared/http/body-slices.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import {
  KEY_FORM,
  type KeyedRequest,
  type KeyForm,
  type ReportedEvents,
} from '../../shared/postgres/idempotency-keys.ts'
import { type Clock, type Micros, MICROS_PER_MS, unixSeconds } from '../../shared/time/microsecond-clock.ts'
import type { Acceptance } from './acceptance.ts'
import type { GatewayPoint } from './crash-points.ts'
import { digestOfReports } from './digest-of-reports.ts'
import type { FindMissing } from './existing-references.ts'
import { type Fault, impossible, throwFaults } from './faults.ts'
import { recordsOf } from './records-of.ts'
import {
  type CheckedEvent,
  checkEvent,
  type EventForm,
  NATIVE_FORM,
  type ReportedEvent,
} from './reported-event.ts'
import type { RequestKeys } from './request-keys.ts'

export interface ReportUsageDeps {
  log: Pick<EventLog, 'append' | 'partitions'>
  acceptance: Acceptance
  /** The clock of this machine. */
  clock: Clock
  /** Whether `clock` may be behind. Then an event ahead of it may be refused only temporarily. */
  mayBeBehind: () => boolean
  findMissing: FindMissing
  requestKeys: RequestKeys
  /** Called at each crash point. */
  reached?: Reached<GatewayPoint>
}

export interface Report {
  caller: Pick<Caller, 'namespaceId'>
  /** How far the clock of the caller's namespace runs ahead of real time. */
  aheadMs: number
  events: readonly ReportedEvent[]
  /** The bytes of the whole request. */
  body: Buffer
  /** Method and path. It must never change, because ids of events that the request's key identifies depend on it. */
  route: string
  /** The Idempotency-Key header. */
  requestKey: string | undefined
  /** The prefix of an event in faults: `events[3].`, or nothing when the request has only one event. */
  label: (index: number) => string
  /** How the request writes its events. Default: as `NewUsageEvent` of openapi.yaml. */
  form?: EventForm
}

export type ReportUsage = (report: Report) => Promise<UsageEvent[]>

/**
 * Takes reported usage: checks all of it, then appends it to the event log. When the promise resolves, every event is
 * durable.
 *
 * @returns the events in the order given; equal reports of one event in one request are the same event
 * @throws DomainError malformed, unprocessable, conflict or suspended when nothing was written; unavailable when it is
 *   unknown whether anything was written
 */
export function reportUsage(deps: ReportUsageDeps): ReportUsage {
  const { log, acceptance, clock, mayBeBehind, findMissing, requestKeys, reached = () => undefined } = deps
  return async (report) => {
    const { route, requestKey, aheadMs } = report
    const { namespaceId } = report.caller
    const ahead = aheadMs * MICROS_PER_MS
    const { length: bytes } = report.body
    await awaitNextSlice(bytes)
    const now = unixSeconds(clock() + ahead)
    if (mayBeBehind()) requireNotAhead(report, now)
    const checked = await checkAll(report, now, findMissing)
    // Waits before the acceptance, because the list of events waits for every accepted event that is not in the log.
    await awaitNextSlice(bytes)
    const keyed =
      requestKey === undefined ? undefined : { route, key: requestKey, digest: digestOfReports(checked) }
    const prepare = async (acceptedAt: Micros) => {
      reached('gateway-accepted')
      // Times of acceptance may be ahead of the clock. Usage without a time gets the earlier of the two.
      const happensAt = Math.min(acceptedAt, clock()) + ahead
      const begun = keyed && (await requestKeys.begin(namespaceId, keyed, report.body, happensAt))
      if (keyed !== undefined) reached('gateway-keyed')
      const identityOf = identitiesOf(keyed, begun?.form)
      return checked.map((event, index) => {
        const occurredAt = event.occurredAt ?? unixSeconds(begun?.at ?? happensAt)
        const key = identityOf(event, index)
        return usageEventOf(event, { namespaceId, acceptedAt, occurredAt, key })
      })
    }
    const events = await acceptance.during(prepare, (accepted) => {
      const [first] = accepted
      const appended = log.append(recordsOf(distinct(accepted), log.partitions, first?.acceptedAt ?? 0))
      reached('gateway-appending')
      return appended
    })
    reached('gateway-appended')
    if (keyed !== undefined) await requestKeys.complete(namespaceId, keyed, reportedOf(events))
    reached('gateway-completed')
    return events
  }
}

/**
 * Makes the function that says how an event of a request is identified: by its own key, else by the header's key and
 * its index, else at random.
 *
 * @param form the form in which the request that first used the key was stored
 */
function identitiesOf(
  keyed: Pick<KeyedRequest, 'route' | 'key'> | undefined,
  form: KeyForm | undefined,
): (event: CheckedEvent, index: number) => IdentityKey {
  const identify = (index: number): IdentityKey => {
    if (keyed === undefined) return { kind: 'random' }
    const { route, key } = keyed
    return form === KEY_FORM.ofBytes ? { kind: 'request', key, index } : { kind: 'route', route, key, index }
  }
  return ({ key }, index) => {
    if (key === undefined) return identify(index)
    return typeof key === 'string' ? { kind: 'event', key } : key
  }
}

function reportedOf(events: readonly UsageEvent[]): ReportedEvents {
  const [first] = events
  if (first === undefined) throw new Error('a request without events was taken')
  return { firstId: first.id, count: events.length }
}

/** @throws DomainError suspended when usage is ahead of a clock that may be behind, because its time may be right */
function requireNotAhead({ events, form = NATIVE_FORM }: Report, now: number): void {
  if (events.some(({ occurred_at: at }) => at != null && liesTooFarAhead(at, now)))
    throw new DomainError(
      'suspended',
      `${form.names.occurredAt}: lies more than five minutes ahead of a clock that may be behind, try again later`,
    )
}

interface Stamp {
  namespaceId: string
  acceptedAt: Micros
  occurredAt: number
  key: IdentityKey
}

function usageEventOf(event: CheckedEvent, { namespaceId, acceptedAt, occurredAt, key }: Stamp): UsageEvent {
  const { accountId, source, quantity, properties, propertyPairs } = event
  return {
    namespaceId,
    id: usageEventId(namespaceId, accountId, source, occurredAt, key),
    accountId,
    source,
    quantity,
    occurredAt,
    acceptedAt,
    properties,
    propertyPairs,
    correctedAt: null,
    voided: false,
    version: reportVersion(acceptedAt, contentOf(event)),
  }
}

async function checkAll(report: Report, now: number, findMissing: FindMissing): Promise<CheckedEvent[]> {
  const { form = NATIVE_FORM } = report
  const faults = new Map<number, Fault>()
  const checked: CheckedEvent[] = []
  const accountIds = new Set<string>()
  const metricIds = new Set<string>()
  let hasNumber = false
  for (const [index, event] of report.events.entries()) {
    const result = checkEvent(event, now, form, index)
    if ('code' in result) {
      faults.set(index, result)
      continue
    }
    checked.push(result)
    accountIds.add(result.accountId)
    if (isMetric(result.source)) metricIds.add(result.source)
    hasNumber ||= result.hasNumber
  }
  // Why only if a property is a number: most properties are not, and this check reads the whole body again.
  if (faults.size === 0 && hasNumber)
    for (const [index, fault] of form.findLostDigits(report.body)) faults.set(index, fault)
  throwFaults(faults, report.label)
  const unknown = await findMissing(report.caller.namespaceId, accountIds, metricIds)
  addUnknown(faults, checked, unknown, form)
  addConflicts(faults, checked, report)
  throwFaults(faults, report.label)
  return checked
}

function addUnknown(
  faults: Map<number, Fault>,
  events: readonly CheckedEvent[],
  unknown: ReadonlySet<string>,
  { names }: EventForm,
): void {
  if (unknown.size === 0) return
  for (const [index, { accountId, source }] of events.entries()) {
    if (unknown.has(accountId)) faults.set(index, impossible(`${names.accountId}: there is no such account`))
    else if (unknown.has(source)) faults.set(index, impossible(`${names.metricId}: there is no such metric`))
  }
}

/** Refuses one key with different contents in one request, because nothing shows which content is right. */
function addConflicts(
  faults: Map<number, Fault>,
  events: readonly CheckedEvent[],
  { label, form: { names } = NATIVE_FORM }: Report,
): void {
  if (events.length === 1) return
  const firsts = new Map<string, number>()
  for (const [index, event] of events.entries()) {
    if (event.key === undefined) continue
    const identity = JSON.stringify([event.accountId, event.source, event.occurredAt, event.key])
    const first = firsts.get(identity)
    const before = first === undefined ? undefined : events[first]
    if (first === undefined || before === undefined) firsts.set(identity, index)
    else if (contentOf(before) !== contentOf(event))
      faults.set(
        index,
        impossible(`${names.key}: the same as ${label(first)}${names.key}, with another content`),
      )
  }
}

/** Leaves out repeated reports of one event in one request. */
const distinct = (events: readonly UsageEvent[]): Iterable<UsageEvent> =>
  events.length === 1 ? events : new Map(events.map((event) => [event.id, event])).values()
