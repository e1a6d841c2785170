import type { usageEventListRepository } from '../../../shared/clickhouse/usage-event-list.ts'
import type { CurrentEvent, usageEventRepository } from '../../../shared/clickhouse/usage-events.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { formatAmount, amountFromDatabase } from '../../../shared/amount/amount.ts'
import { LOADER_GROUP, USAGE_TOPIC, type EventLog } from '../../../shared/event-log/event-log.ts'
import type { deadLetterRepository } from '../../../shared/postgres/dead-letters.ts'
import { unixSeconds, type Micros } from '../../../shared/time/microsecond-clock.ts'
import {
  DISORDER_MAX_S,
  readLogWindows,
  type AuditedLine,
  type LinePlace,
  type LogWindow,
} from './log-window-reader.ts'

export interface AuditDeps {
  log: EventLog
  events: Pick<ReturnType<typeof usageEventRepository>, 'listRows' | 'listMisplaced'>
  list: Pick<ReturnType<typeof usageEventListRepository>, 'listEntriesAccepted'>
  deadLetters: Pick<ReturnType<typeof deadLetterRepository>, 'listPlaces'>
  /** No event accepted before this can still turn up. */
  listedUpTo: () => Promise<Micros>
}

/** Something that does not add up. */
export interface Finding {
  kind:
    | 'lost' // in the log, neither counted nor in the dead letters
    | 'unlisted' // counted, but not in the list of events
    | 'altered' // counted with another content than the log has
    | 'superseded by nobody' // counted with a version that the log does not hold
    | 'not in the log' // counted, but nobody reported it
    | 'doubled' // counted more than once
    | 'misplaced' // counted at another time than its id says
    | 'accepted in the future'
  eventId: string | undefined
  place: LinePlace | undefined
  detail: string
}

/** Each number is counted by itself; none is worked out from the others. */
export interface AuditResult {
  /** Unix seconds of acceptance, half-open. */
  from: number
  to: number
  /** Lines of the log. */
  logged: number
  /** Lines whose event counts with this very report or correction. */
  counted: number
  /** Lines whose event counts with another report or correction. */
  superseded: number
  /** Lines in the dead letters. */
  dead: number
  /** Lines that are nowhere. */
  lost: number
  /** Events in ClickHouse that were looked at. */
  stored: number
  findings: Finding[]
  /** Findings beyond those listed. */
  findingsMore: number
}

const WINDOW_LINES = 100_000
const FINDINGS_MAX = 100
/** How far ahead of ours another machine's clock may be. */
const CLOCK_AHEAD_MAX_S = 300
const LAST_SECOND = 2 ** 32 - 1

/**
 * Proves for a stretch of acceptance time that nothing accepted was lost, doubled or altered, and that nothing is counted
 * that nobody reported. It reads the log again, line by line, and looks every event up in ClickHouse and the dead letters.
 *
 * @param wanted Unix seconds; the start is moved up to where the log is whole, the end down to what is surely loaded
 */
export async function auditUsage(
  deps: AuditDeps,
  wanted: { from: number; to: number },
): Promise<AuditResult> {
  const { log, events, list } = deps
  // In this order: everything accepted before the first is behind the second.
  const loadedTo = unixSeconds(await deps.listedUpTo())
  const ends = (await log.lag(LOADER_GROUP)).map(({ partition, committed }) => ({
    partition,
    offset: committed,
  }))
  const since = await log.keptSince()
  const from = Math.max(wanted.from, since === 0 ? 0 : unixSeconds(since) + DISORDER_MAX_S)
  const to = Math.max(from, Math.min(wanted.to, loadedTo))
  const result: AuditResult = {
    from,
    to,
    logged: 0,
    counted: 0,
    superseded: 0,
    dead: 0,
    lost: 0,
    stored: 0,
    findings: [],
    findingsMore: 0,
  }
  for await (const window of readLogWindows(log, { from, to }, ends, WINDOW_LINES))
    await auditWindow(window, deps, result)
  for (const id of await events.listMisplaced(from, to))
    report(result, {
      kind: 'misplaced',
      eventId: id,
      place: undefined,
      detail: 'counted at another time than its id says',
    })
  for (const { id } of await list.listEntriesAccepted(loadedTo + CLOCK_AHEAD_MAX_S, LAST_SECOND))
    report(result, { kind: 'accepted in the future', eventId: id, place: undefined, detail: '' })
  return result
}

/** The audit found nothing, and its numbers agree. */
export function isClean(result: AuditResult): boolean {
  const { logged, counted, superseded, dead, lost } = result
  return result.findings.length === 0 && logged === counted + superseded + dead + lost
}

async function auditWindow(window: LogWindow, deps: AuditDeps, result: AuditResult): Promise<void> {
  const entries = await deps.list.listEntriesAccepted(window.from, window.to)
  const listed = new Set(
    entries.map(({ namespaceId, id, acceptedSecond }) => `${namespaceId} ${id} ${acceptedSecond}`),
  )
  const reported = new Map<string, { best: bigint; event: UsageEvent }>()
  for (const line of window.lines) if ('event' in line) noteReport(reported, line.event)
  const wanted = [...entries, ...[...reported.values()].map(({ event }) => event)]
  const stored = await loadStored(deps, wanted, result)
  const dead = await listDead(deps, window.lines)
  for (const line of window.lines) auditLine(line, { stored, dead, listed, window }, result)
  for (const [key, row] of stored) auditStored(key, row, reported, window, result)
  for (const { namespaceId, id } of entries)
    if (!stored.has(keyOf(namespaceId, id)) && !reported.has(keyOf(namespaceId, id)))
      report(result, {
        kind: 'not in the log',
        eventId: id,
        place: undefined,
        detail: 'listed, but nothing is counted',
      })
}

const keyOf = (namespaceId: string, id: string): string => `${namespaceId} ${id}`

function noteReport(reported: Map<string, { best: bigint; event: UsageEvent }>, event: UsageEvent): void {
  const key = keyOf(event.namespaceId, event.id)
  const before = reported.get(key)
  if (before === undefined || event.version > before.best) reported.set(key, { best: event.version, event })
}

async function loadStored(
  { events }: AuditDeps,
  wanted: readonly { namespaceId: string; id: string }[],
  result: AuditResult,
): Promise<Map<string, CurrentEvent>> {
  const byNamespace = new Map<string, Set<string>>()
  for (const { namespaceId, id } of wanted)
    byNamespace.set(namespaceId, (byNamespace.get(namespaceId) ?? new Set<string>()).add(id))
  const stored = new Map<string, CurrentEvent>()
  for (const [namespaceId, ids] of byNamespace) {
    for (const row of await events.listRows(namespaceId, [...ids])) {
      const key = keyOf(namespaceId, row.id)
      if (stored.has(key))
        report(result, { kind: 'doubled', eventId: row.id, place: undefined, detail: describeRow(row) })
      stored.set(key, row)
    }
  }
  return stored
}

const describeRow = ({ accountId, source, quantity }: CurrentEvent): string =>
  `${quantity} of ${source} for ${accountId}`

/** The places of the window's lines that are in the dead letters. */
async function listDead(deps: AuditDeps, lines: readonly AuditedLine[]): Promise<Set<string>> {
  const ranges = new Map<number, { first: number; last: number }>()
  for (const { partition, offset } of lines) {
    const range = ranges.get(partition) ?? { first: offset, last: offset }
    ranges.set(partition, { first: Math.min(range.first, offset), last: Math.max(range.last, offset) })
  }
  const dead = new Set<string>()
  for (const [partition, { first, last }] of ranges)
    for (const letter of await deps.deadLetters.listPlaces(USAGE_TOPIC, partition, first, last + 1))
      dead.add(placeKey(letter))
  return dead
}

const placeKey = ({ partition, offset, line }: LinePlace): string => `${partition}/${offset}/${line}`

interface WindowFacts {
  stored: ReadonlyMap<string, CurrentEvent>
  dead: ReadonlySet<string>
  listed: ReadonlySet<string>
  window: LogWindow
}

/** From the log's side: what became of this line? */
function auditLine(
  line: AuditedLine,
  { stored, dead, listed, window }: WindowFacts,
  result: AuditResult,
): void {
  result.logged++
  const { partition, offset, line: number } = line
  const place = { partition, offset, line: number }
  const isDead = dead.has(placeKey(line))
  const row = 'event' in line ? stored.get(keyOf(line.event.namespaceId, line.event.id)) : undefined
  if (!('event' in line) || row === undefined) {
    if (isDead) result.dead++
    else {
      result.lost++
      const eventId = 'event' in line ? line.event.id : undefined
      report(result, { kind: 'lost', eventId, place, detail: 'neither counted nor in the dead letters' })
    }
    return
  }
  const { event } = line
  if (row.version === event.version) {
    result.counted++
    if (!isSameContent(row, event))
      report(result, { kind: 'altered', eventId: event.id, place, detail: describeDifference(row, event) })
    const acceptedSecond = unixSeconds(row.acceptedAt)
    const inWindow = acceptedSecond >= window.from && acceptedSecond < window.to
    if (inWindow && !listed.has(`${event.namespaceId} ${event.id} ${acceptedSecond}`))
      report(result, { kind: 'unlisted', eventId: event.id, place, detail: 'missing in the list of events' })
  } else if (row.version > event.version) {
    result.superseded++
  } else if (isDead) {
    result.dead++
  } else {
    result.lost++
    report(result, {
      kind: 'lost',
      eventId: event.id,
      place,
      detail: 'an older version of this event is counted',
    })
  }
}

/** From ClickHouse's side: who reported this row? */
function auditStored(
  key: string,
  row: CurrentEvent,
  reported: ReadonlyMap<string, { best: bigint; event: UsageEvent }>,
  window: LogWindow,
  result: AuditResult,
): void {
  const acceptedSecond = unixSeconds(row.acceptedAt)
  if (acceptedSecond < window.from || acceptedSecond >= window.to) return // reported earlier, and audited there
  result.stored++
  const best = reported.get(key)?.best
  const about = { eventId: row.id, place: undefined, detail: describeRow(row) }
  if (best === undefined) report(result, { kind: 'not in the log', ...about })
  else if (row.version > best) report(result, { kind: 'superseded by nobody', ...about })
}

const isSameContent = (row: CurrentEvent, event: UsageEvent): boolean => describeDifference(row, event) === ''

function describeDifference(row: CurrentEvent, event: UsageEvent): string {
  const fields: [string, string, string][] = [
    ['account', row.accountId, event.accountId],
    ['source', row.source, event.source],
    [
      'quantity',
      formatAmount(amountFromDatabase(row.quantity)),
      formatAmount(amountFromDatabase(event.quantity)),
    ],
    ['occurred_at', String(row.occurredAt), String(event.occurredAt)],
    ['accepted_at', String(row.acceptedAt), String(event.acceptedAt)],
    ['voided', String(row.voided), String(event.voided)],
    ['properties', row.properties, event.properties],
  ]
  return fields
    .filter(([, counted, logged]) => counted !== logged)
    .map(([name, counted, logged]) => `${name} is ${counted}, the log has ${logged}`)
    .join('; ')
}

function report(result: AuditResult, finding: Finding): void {
  if (result.findings.length < FINDINGS_MAX) result.findings.push(finding)
  else result.findingsMore++
}
