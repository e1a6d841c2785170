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
/** The most corrections that are kept for another look, before further corrections are read. */
const SUSPECTS_MAX = 20_000

/** A correction that was sent, and that ClickHouse did not have at the first look. */
type Suspect = CorrectionKey & { voided: boolean }

/**
 * Audits from PostgreSQL's side: does each correction made in a range of time count? If it was sent, it must count once
 * the log is loaded. If it was not sent, it must not be old. Pages of corrections and of rows are read, compared and
 * dropped. Corrections of namespaces reset in the meantime are ignored.
 *
 * @param unsentMaxS how long a correction may be on its way to the log
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
      // Each row is checked once, with the event's newest correction, even when it is of a correction that nobody made.
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

/** Whether the correction counts, a later correction counts, or neither. */
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
 * Looks again for corrections, after the log is loaded up to its current end. Corrections that were sent before this
 * call must then be in ClickHouse.
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
const since = (at: Micros): string => `corrected at ${timeOf(at)}, and the event log is not known to have it`
