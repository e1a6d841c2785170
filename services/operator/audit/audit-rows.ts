import { setImmediate as letOthersWork } from 'node:timers/promises'
import {
  type AcceptedEntry,
  type BinaryEntry,
  entryFromBinary,
} from '../../../shared/clickhouse/events/usage-event-list.ts'
import type { CurrentEvent } from '../../../shared/clickhouse/events/usage-events.ts'
import { type Micros, unixSeconds } from '../../../shared/time/microsecond-clock.ts'
import { type AuditLinesDeps, type CountedLogLine, findUnlisted } from './audit-lines.ts'
import { type AuditResult, describeRow, isNoted, report } from './audit-result.ts'
import { describeDifference, isSame } from './compare-events.ts'
import type { Confirmations } from './confirmations.ts'
import { FATE, type LogLineTable, type LogLineVerdict } from './log-line-table.ts'
import { findRetired, keyOf, lookUpRows } from './look-up-rows.ts'

const ENTRIES_AT_ONCE = 50_000
/** How many entries are looked up at once, and compared before the event loop gets to other work. */
const OPEN_AT_ONCE = 3_000

export interface AuditRowsDeps extends Pick<AuditLinesDeps, 'events' | 'list' | 'revisions' | 'retired'> {
  signal: AbortSignal
}

/** An entry that no line of the log has confirmed so far. */
type OpenEntry = AcceptedEntry & { verdict: 'superseded' | 'missing' | undefined }

/**
 * Compares the list of events in ClickHouse with the lines of the log, for a range of whole seconds of acceptance. Each
 * event in the list must come from a line or a revision. Each line that counts must be in the list. Each event is
 * compared by itself.
 *
 * A corrected event is confirmed by its revision in PostgreSQL, which is committed before its row exists anywhere.
 */
export async function auditRows(
  { from, to }: { from: number; to: number },
  deps: AuditRowsDeps,
  table: LogLineTable,
  confirmations: Confirmations,
  result: AuditResult,
): Promise<void> {
  let after: BinaryEntry | undefined
  let open: OpenEntry[] = []
  const resolveOpen = async () => {
    await auditOpenEntries(open, deps, confirmations, result)
    open = []
  }
  for (;;) {
    deps.signal.throwIfAborted()
    const entries = await deps.list.listEntriesAccepted({ from, to, after, limit: ENTRIES_AT_ONCE })
    for (const [n, entry] of entries.entries()) {
      if (n % OPEN_AT_ONCE === 0) await letOthersWork()
      const ofTable = table.verdictOn(entry.namespaceId, entry.id, entry.acceptedSecond)
      if (ofTable === 'counts') {
        result.stored++
        continue
      }
      const named = entryFromBinary(entry)
      const noted = confirmations.verdictOn(keyOf(named), named.acceptedSecond)
      if (noted === 'counts') result.stored++
      // With `elsewhere`, another row of the event counts. It was accepted in another second, and has its own entry.
      else if (ofTable !== 'elsewhere' || noted !== undefined)
        open.push({ ...named, verdict: verdictOf(ofTable, noted) })
      if (open.length === OPEN_AT_ONCE) await resolveOpen()
    }
    after = entries.at(-1)
    if (entries.length < ENTRIES_AT_ONCE) break
  }
  await resolveOpen()
  await findUnlistedLines(to, deps, table, result)
  confirmations.forgetBefore(to)
  table.forgetBefore(to)
}

const verdictOf = (
  ofTable: LogLineVerdict,
  noted: 'superseded' | 'missing' | undefined,
): OpenEntry['verdict'] => (ofTable === 'superseded' ? ofTable : noted)

async function auditOpenEntries(
  open: readonly OpenEntry[],
  { events, revisions, retired }: AuditRowsDeps,
  confirmations: Confirmations,
  result: AuditResult,
): Promise<void> {
  const rows = await lookUpRows(events, open, result)
  const reset = await findRetired(retired, open)
  const corrected: CorrectedRow[] = []
  for (const entry of open) {
    if (reset.has(entry.namespaceId)) continue
    const [row] = rows.get(keyOf(entry)) ?? []
    if (row !== undefined && isListedBy(row, entry)) {
      result.stored++
      if (row.correctedAt === null)
        confirmations.await(keyOf(entry), {
          row,
          namespaceId: entry.namespaceId,
          hasOtherLines: entry.verdict === 'superseded',
        })
      else corrected.push({ namespaceId: entry.namespaceId, row, correctedAt: row.correctedAt })
    } else if (row === undefined && entry.verdict === undefined) {
      const detail = 'listed, but nothing is counted'
      report(result, { kind: 'not in the log', eventId: entry.id, detail })
    }
  }
  await requireRevisions(corrected, { revisions, retired }, result)
}

/** Reports lines accepted before `to` whose event counts but has no entry in the list. */
async function findUnlistedLines(
  to: number,
  deps: AuditRowsDeps,
  table: LogLineTable,
  result: AuditResult,
): Promise<void> {
  let unlisted: CountedLogLine[] = []
  for (let line = 0; line < table.size; line++) {
    const acceptedSecond = table.acceptedSecond(line)
    if (table.fateOf(line) !== FATE.counted || table.isListed(line) || acceptedSecond >= to) continue
    const namespaceId = table.namespaceOf(line)
    unlisted.push({ ...table.positionOf(line), namespaceId, id: `event_${table.idOf(line)}`, acceptedSecond })
    if (unlisted.length < OPEN_AT_ONCE) continue
    await findUnlisted(unlisted, deps, result)
    unlisted = []
  }
  await findUnlisted(unlisted, deps, result)
}

/** A row that was made by a correction. */
export interface CorrectedRow {
  namespaceId: string
  row: CurrentEvent
  correctedAt: Micros
}

/** Reports rows of corrections that have no revision, or that differ from their revision. */
export async function requireRevisions(
  corrected: readonly CorrectedRow[],
  { revisions, retired }: Pick<AuditLinesDeps, 'revisions' | 'retired'>,
  result: AuditResult,
): Promise<void> {
  if (corrected.length === 0) return
  const places = corrected.map(({ namespaceId, row, correctedAt }) => ({
    namespaceId,
    id: row.id,
    correctedAt,
  }))
  const made = new Map((await revisions.listCorrectedAt(places)).map(({ event }) => [keyOf(event), event]))
  const reset = await findRetired(retired, corrected)
  for (const { namespaceId, row, correctedAt } of corrected) {
    if (reset.has(namespaceId)) continue
    const revision = made.get(keyOf({ namespaceId, id: row.id }))
    if (revision?.correctedAt !== correctedAt || revision.version !== row.version) {
      if (!isNoted(result, 'superseded by nobody', row.id))
        report(result, { kind: 'superseded by nobody', eventId: row.id, detail: describeRow(row) })
    } else if (!isSame(row, revision) && !isNoted(result, 'altered', row.id)) {
      const detail = describeDifference(row, revision, 'its revision')
      report(result, { kind: 'altered', eventId: row.id, detail })
    }
  }
}

/** Whether an entry is of this row. Another report of the event has its own entry, at the second of its acceptance. */
const isListedBy = (row: CurrentEvent, entry: AcceptedEntry): boolean =>
  unixSeconds(row.acceptedAt) === entry.acceptedSecond

/** Reports events that count although the log has no line for them. It is called after the whole log was read. */
export async function reportUnconfirmed(
  confirmations: Confirmations,
  { retired }: Pick<AuditLinesDeps, 'retired'>,
  result: AuditResult,
): Promise<void> {
  const unconfirmed = confirmations.unconfirmed()
  const reset = await findRetired(retired, unconfirmed)
  for (const { row, namespaceId, hasOtherLines } of unconfirmed) {
    if (reset.has(namespaceId)) continue
    const kind = hasOtherLines ? 'superseded by nobody' : 'not in the log'
    report(result, { kind, eventId: row.id, detail: describeRow(row) })
  }
}
