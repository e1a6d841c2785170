import type {
  StoredAccount,
  StoredCorrection,
  storedOwnerRepository,
} from '../../../shared/clickhouse/events/stored-owners.ts'
import { groupBy } from '../../../shared/collections/group-by.ts'
import { type Micros, unixSeconds } from '../../../shared/time/microsecond-clock.ts'
import type { AuditLinesDeps } from './audit-lines.ts'
import { type AuditResult, isNoted, report } from './audit-result.ts'
import { findRetired } from './look-up-rows.ts'
import { pagesOf } from './pages-of.ts'

export interface AuditOwnersDeps extends Pick<AuditLinesDeps, 'retired' | 'revisions'> {
  owners: ReturnType<typeof storedOwnerRepository>
  /** Lists those of the accounts that exist in the namespace. */
  listExisting: (namespaceId: string, accountIds: readonly string[]) => Promise<string[]>
  signal: AbortSignal
}

/** A page needs a scan of the corrections or accounts in the range, so pages are large. */
const AT_ONCE = 50_000

/**
 * Checks that PostgreSQL has every correction and every account that ClickHouse has in a range. It lacks some if it was
 * restored from a backup, and ClickHouse was not. Nothing mends that by itself.
 */
export async function auditOwners(
  range: { from: Micros; to: Micros },
  { owners, revisions, listExisting, retired, signal }: AuditOwnersDeps,
  result: AuditResult,
): Promise<void> {
  const corrections = (after?: StoredCorrection) => owners.listCorrections(range, after, AT_ONCE)
  for await (const page of pagesOf(corrections, AT_ONCE, signal)) {
    const missing = await revisions.listMissing(page)
    const reset = await findRetired(retired, missing)
    for (const { namespaceId, id, correctedAt } of missing)
      if (!reset.has(namespaceId) && !isNoted(result, 'superseded by nobody', id))
        report(result, {
          kind: 'correction unknown',
          eventId: id,
          detail: `stored as corrected at ${new Date(correctedAt / 1_000).toISOString()}. ${OLDER}`,
        })
  }
  const seconds = { from: unixSeconds(range.from), to: unixSeconds(range.to) }
  const accounts = (after?: StoredAccount) => owners.listAccounts(seconds, after, AT_ONCE)
  for await (const page of pagesOf(accounts, AT_ONCE, signal)) {
    for (const [namespaceId, stored] of groupBy(page, (account) => account.namespaceId)) {
      const ids = stored.map(({ accountId }) => accountId)
      const existing = new Set(await listExisting(namespaceId, ids))
      const unknown = ids.filter((id) => !existing.has(id))
      // Looked up last, because a reset deletes accounts.
      if (unknown.length === 0 || (await findRetired(retired, [{ namespaceId }])).size > 0) continue
      const detail = `it has usage. ${OLDER}`
      for (const accountId of unknown)
        report(result, { kind: 'account unknown', eventId: undefined, accountId, detail })
    }
  }
}

const OLDER = 'Is PostgreSQL older than ClickHouse?'
