import { setImmediate as letOthersWork } from 'node:timers/promises'
import type {
  AcceptanceKey,
  usageEventListRepository,
} from '../../../shared/clickhouse/events/usage-event-list.ts'
import type { CurrentEvent, usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import type { EventLog } from '../../../shared/event-log/event-log.ts'
import type { deadLetterRepository } from '../../../shared/postgres/dead-letters.ts'
import type { everyRevisionRepository } from '../../../shared/postgres/event-revisions.ts'
import type { retiredNamespaceRepository } from '../../../shared/postgres/retired-namespaces.ts'
import { unixSeconds } from '../../../shared/time/microsecond-clock.ts'
import { type AuditResult, type Finding, report } from './audit-result.ts'
import { describeDifference, isSame } from './compare-events.ts'
import type { Confirmations } from './confirmations.ts'
import { byNamespace, findRetired, keyOf, lookUpRows } from './look-up-rows.ts'
import type { LogLine, LogLinePosition } from './read-log-lines.ts'
import { type SupersededLogLine, tellRepeats } from './tell-repeats.ts'

export interface AuditLinesDeps {
  log: Pick<EventLog, 'id'>
  events: Pick<ReturnType<typeof usageEventRepository>, 'listRows' | 'listMisplaced'>
  list: Pick<ReturnType<typeof usageEventListRepository>, 'listEntriesAccepted' | 'listListed' | 'listAlike'>
  deadLetters: Pick<ReturnType<typeof deadLetterRepository>, 'listPositions'>
  /**
   * Finds namespaces that a reset has retired. It is called after the rows were looked up. So it also finds a reset
   * that deleted rows before they were looked up.
   */
  retired: Pick<ReturnType<typeof retiredNamespaceRepository>, 'listRetired'>
  revisions: Pick<
    ReturnType<typeof everyRevisionRepository>,
    'listCorrected' | 'listCorrectedAt' | 'listMissing' | 'listNewest' | 'listFirst'
  >
}

/** How many lines are compared before the event loop gets to other work. */
const LINES_A_TURN = 250

type ReadableLogLine = LogLine & { event: UsageEvent }
export type CountedLogLine = LogLinePosition & AcceptanceKey & { namespaceId: string }

/**
 * Checks lines of the log: each must count, be superseded, be a dead letter, or belong to a namespace that was reset.
 * Whole events are compared, so that a finding can name the fields that differ.
 *
 * @param confirmations gets a verdict on the event of each readable line
 */
export async function auditLines(
  lines: readonly LogLine[],
  { log, events, list, deadLetters, retired, revisions }: AuditLinesDeps,
  confirmations: Pick<Confirmations, 'confirm' | 'note'>,
  result: AuditResult,
): Promise<void> {
  const readable = lines.filter((line): line is ReadableLogLine => 'event' in line)
  const rows = await lookUpRows(
    events,
    readable.map(({ event }) => event),
    result,
  )
  const dead = await listDead(log.id, deadLetters, lines)
  const reset = await findRetired(
    retired,
    readable.map(({ event }) => event),
  )
  const counted: CountedLogLine[] = []
  const superseded: SupersededLogLine[] = []
  for (const line of lines) {
    if (result.logged++ % LINES_A_TURN === 0) await letOthersWork()
    if ('event' in line && reset.has(line.event.namespaceId)) {
      result.reset++
      continue
    }
    const found = 'event' in line ? (rows.get(keyOf(line.event)) ?? []) : []
    const fate = fateOf(line, found, dead.has(positionKey(line)))
    if (fate.is !== 'superseded') result[fate.is]++
    else if ('event' in line)
      superseded.push({ position: positionOf(line), event: line.event, row: fate.row })
    if (fate.finding !== undefined) report(result, { ...fate.finding, position: positionOf(line) })
    if (!('event' in line)) continue
    const key = keyOf(line.event)
    const { row } = fate
    if (row === undefined) confirmations.note(key, unixSeconds(line.acceptedAt), 'missing')
    else if (fate.is !== 'counted') confirmations.note(key, unixSeconds(row.acceptedAt), 'superseded')
    else {
      counted.push({
        ...positionOf(line),
        namespaceId: line.event.namespaceId,
        id: line.event.id,
        acceptedSecond: unixSeconds(row.acceptedAt),
      })
      // A line cannot confirm a correction. Only the revision in PostgreSQL can, and audit-rows.ts looks it up.
      if (row.correctedAt !== null) confirmations.note(key, unixSeconds(row.acceptedAt), 'superseded')
      else confirmations.confirm(key, unixSeconds(row.acceptedAt), row.version)
    }
  }
  await tellRepeats(superseded, revisions, result)
  await findUnlisted(counted, { list, retired }, result)
}

/** The result for a line, and the row that counts for its event. */
type Fate =
  | { is: 'superseded'; row: CurrentEvent; finding?: undefined }
  | { is: 'counted' | 'dead' | 'lost'; row: CurrentEvent | undefined; finding?: Finding }

function fateOf(line: LogLine, rows: readonly CurrentEvent[], isDead: boolean): Fate {
  const event = 'event' in line ? line.event : undefined
  if (event !== undefined) {
    const same = rows.filter(({ version }) => version === event.version)
    const kept = same.find((row) => isSame(row, event))
    if (kept !== undefined) return { is: 'counted', row: kept }
    if (same[0] !== undefined) {
      const detail = describeDifference(same[0], event, 'the log')
      return { is: 'counted', row: same[0], finding: { kind: 'altered', eventId: event.id, detail } }
    }
    const newer = rows.find(({ version }) => version > event.version)
    if (newer !== undefined) return { is: 'superseded', row: newer }
  }
  const [row] = rows
  if (isDead) return { is: 'dead', row }
  const detail =
    row === undefined
      ? 'neither counted nor in the dead letters'
      : 'an older version of this event is counted'
  return { is: 'lost', row, finding: { kind: 'lost', eventId: event?.id, detail } }
}

/** Finds the positions of those lines that are in the dead letters. */
async function listDead(
  logId: string,
  deadLetters: AuditLinesDeps['deadLetters'],
  lines: readonly LogLine[],
): Promise<Set<string>> {
  const dead = new Set<string>()
  for (const partition of new Set(lines.map((line) => line.partition))) {
    const offsets = lines.filter((line) => line.partition === partition).map(({ offset }) => offset)
    const [first, last] = [Math.min(...offsets), Math.max(...offsets)]
    for (const position of await deadLetters.listPositions(logId, partition, first, last + 1))
      dead.add(positionKey(position))
  }
  return dead
}

const positionOf = ({ partition, offset, line }: LogLinePosition): LogLinePosition => ({
  partition,
  offset,
  line,
})
const positionKey = ({ partition, offset, line }: LogLinePosition): string => `${partition}/${offset}/${line}`

/** Reports lines whose event counts but is missing in the list of events. */
export async function findUnlisted(
  counted: readonly CountedLogLine[],
  { list, retired }: Pick<AuditLinesDeps, 'list' | 'retired'>,
  result: AuditResult,
): Promise<void> {
  for (const [namespaceId, lines] of byNamespace(counted)) {
    const listed = await list.listListed(namespaceId, lines)
    const unlisted = lines.filter((line) => !listed.has(line))
    const reset = await findRetired(retired, unlisted)
    for (const line of unlisted)
      if (!reset.has(namespaceId))
        report(result, {
          kind: 'unlisted',
          eventId: line.id,
          position: positionOf(line),
          detail: 'missing in the list of events',
        })
  }
}
