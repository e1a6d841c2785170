import type { Caller } from '../../shared/domain/api-key.ts'
import { isMetric } from '../../shared/domain/resources.ts'
import {
  contentOf,
  reportVersion,
  usageEventId,
  type IdentityKey,
  type UsageEvent,
} from '../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../shared/domain/usage-event-line.ts'
import { DomainError } from '../../shared/errors/domain-error.ts'
import { RECORD_BYTES_MAX, type EventLog, type NewRecord } from '../../shared/event-log/event-log.ts'
import { partitionOfAccount } from '../../shared/event-log/partition.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import { unixSeconds, type Clock, type Micros } from '../../shared/time/microsecond-clock.ts'
import type { Acceptance } from './acceptance.ts'
import type { GatewayPoint } from './crash-points.ts'
import type { FindUnknown } from './known-references.ts'
import {
  checkEvent,
  findLostDigits,
  type CheckedEvent,
  type Fault,
  type ReportedEvent,
} from './reported-event.ts'

/** Keeps Idempotency-Key headers of reports; see shared/postgres/idempotency-keys.ts. */
export interface RequestKeys {
  begin(namespaceId: string, route: string, key: string, body: Buffer, at: Micros): Promise<Micros>
  complete(namespaceId: string, route: string, key: string): Promise<void>
}

export interface ReportUsageDeps {
  log: Pick<EventLog, 'append' | 'partitions'>
  acceptance: Acceptance
  clock: Clock
  findUnknown: FindUnknown
  requestKeys: RequestKeys
  /** Told where reports get to. */
  reached?: Reached<GatewayPoint>
}

export interface Report {
  caller: Pick<Caller, 'namespaceId'>
  /** How far the clock of the caller's namespace runs ahead of real time. */
  aheadMs: number
  events: readonly ReportedEvent[]
  /** The bytes of the whole request. */
  body: Buffer
  route: string
  /** The Idempotency-Key header. */
  requestKey: string | undefined
  /** How faults name an event: `events[3].`, or nothing when there is only one. */
  label: (index: number) => string
}

export type ReportUsage = (report: Report) => Promise<UsageEvent[]>

const MICROS_PER_MS = 1_000

/** How many faulty events an answer names. */
const FAULTS_NAMED_MAX = 20

/**
 * Takes reported usage: checks all of it, then appends it to the event log; when it resolves, every event is durable.
 *
 * @returns the events in the order given; equal reports of one event in one request are the same event
 * @throws DomainError malformed, unprocessable or conflict when nothing was written, unavailable when that is not known
 */
export function reportUsage(deps: ReportUsageDeps): ReportUsage {
  const { log, acceptance, clock, findUnknown, requestKeys, reached = () => undefined } = deps
  return async (report) => {
    const { route, requestKey, aheadMs } = report
    const { namespaceId } = report.caller
    const ahead = aheadMs * MICROS_PER_MS
    const checked = await checkAll(report, unixSeconds(clock() + ahead), findUnknown)
    const prepare = async (acceptedAt: Micros) => {
      reached('gateway-accepted')
      const defaultAt =
        requestKey === undefined
          ? acceptedAt + ahead
          : await requestKeys.begin(namespaceId, route, requestKey, report.body, acceptedAt + ahead)
      if (requestKey !== undefined) reached('gateway-keyed')
      return checked.map((event, index) => {
        const occurredAt = event.occurredAt ?? unixSeconds(defaultAt)
        const key = identityOf(event, requestKey, index)
        return usageEventOf(event, { namespaceId, acceptedAt, occurredAt, key })
      })
    }
    const events = await acceptance.during(prepare, (accepted) => {
      const appended = log.append(recordsOf(accepted, log.partitions))
      reached('gateway-appending')
      return appended
    })
    reached('gateway-appended')
    if (requestKey !== undefined) await requestKeys.complete(namespaceId, route, requestKey)
    reached('gateway-completed')
    return events
  }
}

function identityOf(event: CheckedEvent, requestKey: string | undefined, index: number): IdentityKey {
  if (event.key !== undefined) return { kind: 'event', key: event.key }
  return requestKey === undefined ? { kind: 'random' } : { kind: 'request', key: requestKey, index }
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

async function checkAll(report: Report, now: number, findUnknown: FindUnknown): Promise<CheckedEvent[]> {
  const faults = new Map<number, Fault>()
  const checked: CheckedEvent[] = []
  const accountIds = new Set<string>()
  const metricIds = new Set<string>()
  let hasNumber = false
  for (const [index, event] of report.events.entries()) {
    const result = checkEvent(event, now)
    if ('code' in result) {
      faults.set(index, result)
      continue
    }
    checked.push(result)
    accountIds.add(result.accountId)
    if (isMetric(result.source)) metricIds.add(result.source)
    hasNumber ||= result.hasNumber
  }
  // Why only then: most properties hold no number, and the whole body must be read again for this.
  if (faults.size === 0 && hasNumber)
    for (const [index, fault] of findLostDigits(report.body)) faults.set(index, fault)
  throwFaults(faults, report.label)
  const unknown = await findUnknown(report.caller.namespaceId, accountIds, metricIds)
  addUnknown(faults, checked, unknown)
  addConflicts(faults, checked, report.label)
  throwFaults(faults, report.label)
  return checked
}

function addUnknown(
  faults: Map<number, Fault>,
  events: readonly CheckedEvent[],
  unknown: ReadonlySet<string>,
): void {
  if (unknown.size === 0) return
  for (const [index, { accountId, source }] of events.entries()) {
    if (unknown.has(accountId)) faults.set(index, impossible('account_id: there is no such account'))
    else if (unknown.has(source)) faults.set(index, impossible('metric_id: there is no such metric'))
  }
}

/** One key with different contents in one request: which of them was meant cannot be told. */
function addConflicts(
  faults: Map<number, Fault>,
  events: readonly CheckedEvent[],
  label: (index: number) => string,
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
        impossible(`idempotency_key: the same as ${label(first)}idempotency_key, with another content`),
      )
  }
}

const impossible = (message: string): Fault => ({ code: 'unprocessable', message })

/** Names the first faulty events by their place; what is malformed goes before what is impossible. */
function throwFaults(faults: ReadonlyMap<number, Fault>, label: (index: number) => string): void {
  if (faults.size === 0) return
  const ordered = [...faults].sort(([a], [b]) => a - b)
  const code = ordered.some(([, fault]) => fault.code === 'malformed') ? 'malformed' : 'unprocessable'
  const named = ordered.filter(([, fault]) => fault.code === code)
  throw new DomainError(code, faultList(named.map(([index, { message }]) => `${label(index)}${message}`)))
}

/** The first faults, one a line, and how many more there are. */
export function faultList(messages: readonly string[]): string {
  const shown = messages.slice(0, FAULTS_NAMED_MAX)
  const more = messages.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more events`] : [])].join('\n')
}

/** One record for each partition, and more where one would be too large. */
function recordsOf(events: readonly UsageEvent[], partitions: number): NewRecord[] {
  const records: NewRecord[] = []
  const open = new Map<number, { text: string; bytes: number }>()
  const seen = new Set<string>()
  const acceptedAt = events[0]?.acceptedAt ?? 0
  const flush = (partition: number, text: string) =>
    records.push({ partition, acceptedAt, value: Buffer.from(text) })
  for (const event of events) {
    if (seen.has(event.id)) continue // an equal report in the same request
    seen.add(event.id)
    const line = `${usageEventToLine(event)}\n`
    const bytes = Buffer.byteLength(line)
    const partition = partitionOfAccount(event.accountId, partitions)
    const record = open.get(partition)
    if (record === undefined) open.set(partition, { text: line, bytes })
    else if (record.bytes + bytes > RECORD_BYTES_MAX) {
      flush(partition, record.text)
      open.set(partition, { text: line, bytes })
    } else {
      record.text += line
      record.bytes += bytes
    }
  }
  for (const [partition, { text }] of open) flush(partition, text)
  return records
}
