import type { AcceptedEntry } from '../../../shared/clickhouse/usage-event-list.ts'
import type { CurrentEvent } from '../../../shared/clickhouse/usage-events.ts'
import { unixSeconds, type Micros } from '../../../shared/time/microsecond-clock.ts'
import type { AuditLinesDeps } from './audit-lines.ts'
import { describeRow, report, type AuditResult } from './audit-result.ts'
import type { Confirmations } from './confirmations.ts'
import { findRetired, keyOf, lookUpRows } from './look-up-rows.ts'

const ENTRIES_AT_ONCE = 3_000

/**
 * From ClickHouse's side: who reported the events that are listed as accepted in a stretch of whole seconds?
 *
 * @param before corrections that were taken since are not asked about: their line may not have been read
 */
export async function auditRows(
  { from, to, before }: { from: number; to: number; before: Micros },
  { events, list, retired }: Pick<AuditLinesDeps, 'events' | 'list' | 'retired'>,
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
    for (const entry of open) {
      if (reset.has(entry.namespaceId)) continue
      const [row] = rows.get(keyOf(entry)) ?? []
      const word = wordOn(entry)
      if (row !== undefined && isListedBy(row, entry)) {
        result.stored++
        if (row.correctedAt === null || row.correctedAt < before)
          confirmations.await(keyOf(entry), {
            row,
            namespaceId: entry.namespaceId,
            outvotes: word === 'outvoted',
          })
      } else if (row === undefined && word === undefined) {
        const detail = 'listed, but nothing is counted'
        report(result, { kind: 'not in the log', eventId: entry.id, detail })
      }
    }
    after = entries.at(-1)
    if (entries.length < ENTRIES_AT_ONCE) break
  }
  confirmations.forgetBefore(to)
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
