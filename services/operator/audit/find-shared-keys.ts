import type { AuditLinesDeps } from './audit-lines.ts'
import { type AuditResult, FINDINGS_MAX } from './audit-result.ts'

/**
 * Notes events that share an idempotency key but have different times: the reporter may have meant one event. This is
 * no error of Tally, and only the reporter can decide. Voided events are left out.
 */
export async function findSharedKeys(
  { events, list }: Pick<AuditLinesDeps, 'events' | 'list'>,
  result: AuditResult,
): Promise<void> {
  const { from, to } = result
  for (const { namespaceId, ids } of await list.listAlike({ from, to }, FINDINGS_MAX)) {
    const counted = (await events.listRows(namespaceId, ids)).filter(({ voided }) => !voided)
    if (counted.length > 1) result.sharedKeys.push(counted.map(({ id }) => id).sort())
  }
}
