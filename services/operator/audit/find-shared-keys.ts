import type { AuditLinesDeps } from './audit-lines.ts'
import { type AuditResult, FINDINGS_MAX } from './audit-result.ts'

/**
 * Notes events that one idempotency key was reported for, with several times: two events where the reporter may have
 * meant one. That is no fault of Tally's, and only whoever reported can tell; what was voided since is settled.
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
