import type { CurrentEvent } from '../../../shared/clickhouse/events/usage-events.ts'
import type { EventRevision } from '../../../shared/domain/correct-event.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { UntilLoaded } from '../../../shared/event-log/until-loaded.ts'
import type { CorrectionKey } from '../../../shared/postgres/event-revisions.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'
import type { AuditLinesDeps } from './audit-lines.ts'
import { type AuditResult, describeRow, report } from './audit-result.ts'
import { type CorrectedRow, requireRevisions } from './audit-rows.ts'
import { findRetired, keyOf, lookUpRows } from './look-up-rows.ts'

export interface AuditCorrectionsDeps extends Pick<AuditLinesDeps, 'events' | 'revisions' | 'retired'> {
  untilLoaded: UntilLoaded
  signal: AbortSignal
}

const AT_ONCE = 3_000
/**
 * At this number of suspects, all of them are checked again before more corrections are read. This bounds the memory.
 */
const SUSPECTS_MAX = 20_000

/** A correction that ClickHouse did not have at the first check, although it was sent to the event log. */
type Suspect = CorrectionKey & { voided: boolean }

/**
 * Checks that ClickHouse counts each correction that PostgreSQL has for a range of time. A correction that was sent to
 * the event log must count once the log is loaded. A correction that was not sent must not be old. Corrections and rows
 * are read in pages and dropped after the comparison. Corrections of namespaces that were reset in the meantime are
 * ignored.
 *
 * @param unsentMaxS how many seconds a correction may stay unsent
 */
export async function auditCorrections(
  { from, to }: { from: Micros; to: Micros },
  deps: AuditCorrectionsDeps,
  unsentMaxS: number,
  result: AuditResult,
): Promise<void> {
  const { events, revisions, retired, signal } = deps
  const { corrections } = result
  let suspects: Suspect[] = []
  let after: CorrectionKey | Micros = from
  for (;;) {
    signal.throwIfAborted()
    const page = await revisions.listCorrected(after, to, AT_ONCE)
    const newest = new Map(
      (await revisions.listNewest(page)).map((revision) => [keyOf(revision.event), revision]),
    )
    const rows = await lookUpRows(events, page, result)
    const reset = await findRetired(retired, page)
    const corrected: CorrectedRow[] = []
    for (const correction of page) {
      if (reset.has(correction.namespaceId)) continue
      corrections.made++
      const { isSent, ageS, correctedAt } = correction
      if (!isSent && ageS > unsentMaxS)
        report(result, { kind: 'not sent', eventId: correction.id, detail: since(correctedAt) })
      const [row] = rows.get(keyOf(correction)) ?? []
      const last = newest.get(keyOf(correction))
      const fate = fateOf(correction, row)
      if (fate === 'missing') {
        if (isSent) suspects.push({ ...correction, voided: isVoid(last, correctedAt) })
        else corrections.waiting++
        continue
      }
      corrections[fate]++
      // Each row is checked once: at the newest correction of its event. The row may be of another correction, even of
      // one that nobody made. requireRevisions finds that out.
      if (row !== undefined && row.correctedAt !== null && last?.event.correctedAt === correctedAt)
        corrected.push({ namespaceId: correction.namespaceId, row, correctedAt: row.correctedAt })
    }
    await requireRevisions(corrected, deps, result)
    after = page.at(-1) ?? after
    if (suspects.length >= SUSPECTS_MAX || page.length < AT_ONCE) {
      await lookAgain(suspects, deps, result)
      suspects = []
    }
    if (page.length < AT_ONCE) return
  }
}

/** Finds whether the correction counts, a later correction counts, or neither. */
function fateOf(
  { correctedAt }: CorrectionKey,
  row: CurrentEvent | undefined,
): 'applied' | 'followed' | 'missing' {
  const counted = row?.correctedAt ?? -Infinity
  if (counted === correctedAt) return 'applied'
  return counted > correctedAt ? 'followed' : 'missing'
}

const isVoid = (last: EventRevision | undefined, correctedAt: Micros): boolean =>
  last?.event.correctedAt === correctedAt && last.event.voided

/**
 * Waits until the log is loaded up to its current end, then checks the corrections again. ClickHouse must now have all
 * corrections that were sent before this call.
 */
async function lookAgain(
  suspects: readonly Suspect[],
  { events, untilLoaded, retired }: AuditCorrectionsDeps,
  result: AuditResult,
): Promise<void> {
  if (suspects.length === 0) return
  const { corrections } = result
  const isLoaded = await untilLoaded().then(
    () => true,
    (err: unknown) => {
      if (err instanceof DomainError && err.code === 'overloaded') return false
      throw err
    },
  )
  if (!isLoaded) {
    corrections.waiting += suspects.length
    return
  }
  for (let start = 0; start < suspects.length; start += AT_ONCE) {
    const some = suspects.slice(start, start + AT_ONCE)
    const rows = await lookUpRows(events, some, result)
    const reset = await findRetired(retired, some)
    for (const suspect of some) {
      if (reset.has(suspect.namespaceId)) {
        corrections.made--
        continue
      }
      const [row] = rows.get(keyOf(suspect)) ?? []
      const fate = fateOf(suspect, row)
      if (fate === 'missing') {
        corrections.unapplied++
        const counted = row === undefined ? 'nothing is counted' : `counted is still ${describeRow(row)}`
        const made = suspect.voided ? 'voided' : 'corrected'
        report(result, {
          kind: 'not applied',
          eventId: suspect.id,
          detail: `${made} at ${timeOf(suspect.correctedAt)}, and ${counted}`,
        })
      } else corrections[fate]++
    }
  }
}

const timeOf = (at: Micros): string => new Date(at / 1_000).toISOString()
const since = (at: Micros): string =>
  `corrected at ${timeOf(at)}, and it is not confirmed that the event log has it`
