import type { AcceptedEntry } from '../../../shared/clickhouse/usage-event-list.ts'
import type { CurrentEvent } from '../../../shared/clickhouse/usage-events.ts'
import { unixSeconds, type Micros } from '../../../shared/time/microsecond-clock.ts'
import { describeDifference, isSame, type AuditLinesDeps } from './audit-lines.ts'
import { describeRow, isNoted, report, type AuditResult } from './audit-result.ts'
import type { Confirmations } from './confirmations.ts'
import { findRetired, keyOf, lookUpRows } from './look-up-rows.ts'

const ENTRIES_AT_ONCE = 3_000

/**
 * From ClickHouse's side: who reported the events that are listed as accepted in a stretch of whole seconds?
 *
 * One that was corrected is confirmed by its revision, which is committed before its row can be anywhere.
 */
export async function auditRows(
  { from, to }: { from: number; to: number },
  { events, list, revisions, retired }: Pick<AuditLinesDeps, 'events' | 'list' | 'revisions' | 'retired'>,
  confirmations: Confirmations,
  result: AuditResult,
): Promise<void> {
  let after: AcceptedEntry | undefined
  for (;;) {
    const entries = await list.listEntriesAccepted({ from, to, after, limit: ENTRIES_AT_ONCE })
    const wordOn = (entry: AcceptedEntry) => confirmations.wordOn(keyOf(entry), entry.acceptedSecond)
    result.stored += entries.filter((entry) => wordOn(entry) === 'counts').length
    const open = entries.filter((entry) => wordOn(entry) !== 'counts')
    const rows = await lookUpRows(events, open, result)
    const reset = await findRetired(retired, open)
    const corrected: CorrectedRow[] = []
    for (const entry of open) {
      if (reset.has(entry.namespaceId)) continue
      const [row] = rows.get(keyOf(entry)) ?? []
      const word = wordOn(entry)
      if (row !== undefined && isListedBy(row, entry)) {
        result.stored++
        if (row.correctedAt === null)
          confirmations.await(keyOf(entry), {
            row,
            namespaceId: entry.namespaceId,
            outvotes: word === 'outvoted',
          })
        else corrected.push({ namespaceId: entry.namespaceId, row, correctedAt: row.correctedAt })
      } else if (row === undefined && word === undefined) {
        const detail = 'listed, but nothing is counted'
        report(result, { kind: 'not in the log', eventId: entry.id, detail })
      }
    }
    await requireRevisions(corrected, { revisions, retired }, result)
    after = entries.at(-1)
    if (entries.length < ENTRIES_AT_ONCE) break
  }
  confirmations.forgetBefore(to)
}

/** A row that says it is a correction. */
export interface CorrectedRow {
  namespaceId: string
  row: CurrentEvent
  correctedAt: Micros
}

/** Reports rows of corrections that nobody made. */
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

/** Another report of an event leaves an entry too, at the second it was accepted in. */
const isListedBy = (row: CurrentEvent, entry: AcceptedEntry): boolean =>
  unixSeconds(row.acceptedAt) === entry.acceptedSecond

/** Reports what is counted without a line, once the whole log was read. */
export async function reportUnconfirmed(
  confirmations: Confirmations,
  { retired }: Pick<AuditLinesDeps, 'retired'>,
  result: AuditResult,
): Promise<void> {
  const unconfirmed = confirmations.unconfirmed()
  const reset = await findRetired(retired, unconfirmed)
  for (const { row, namespaceId, outvotes } of unconfirmed) {
    if (reset.has(namespaceId)) continue
    const kind = outvotes ? 'superseded by nobody' : 'not in the log'
    report(result, { kind, eventId: row.id, detail: describeRow(row) })
  }
}
