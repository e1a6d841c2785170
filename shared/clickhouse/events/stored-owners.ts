import { formatMicros, parseMicros } from '../../time/micros-text.ts'
import type { Micros } from '../../time/microsecond-clock.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'

/** A correction of which a row is stored. */
export interface StoredCorrection {
  namespaceId: string
  id: string
  correctedAt: Micros
}

/** An account that has stored usage. */
export interface StoredAccount {
  namespaceId: string
  accountId: string
}

const CORRECTIONS = `
  SELECT DISTINCT namespace_id, concat('event_', lower(hex(id))) AS event_id, toString(corrected_at) AS corrected
  FROM usage_events
  WHERE toUnixTimestamp64Micro(assumeNotNull(corrected_at)) >= {from:Int64}
    AND toUnixTimestamp64Micro(assumeNotNull(corrected_at)) < {to:Int64} AND corrected_at IS NOT NULL
    AND (namespace_id, event_id, corrected) > ({namespaceId:String}, {id:String}, {correctedAt:String})
  ORDER BY namespace_id, event_id, corrected LIMIT {limit:UInt32}`
const ACCOUNTS = `
  SELECT DISTINCT namespace_id, account_id FROM usage_events_by_acceptance
  WHERE accepted_second >= toDateTime({from:UInt32}, 'UTC') AND accepted_second < toDateTime({to:UInt32}, 'UTC')
    AND (namespace_id, account_id) > ({namespaceId:String}, {accountId:String})
  ORDER BY namespace_id, account_id LIMIT {limit:UInt32}`

/** For the audit: what PostgreSQL must have of the stored usage. Lists are in pages, in the order of their fields. */
export const storedOwnerRepository = (client: ClickHouse) => ({
  /** Corrections that were made in a range, also those that do not count any more. */
  async listCorrections(
    { from, to }: { from: Micros; to: Micros },
    after: StoredCorrection | undefined,
    limit: number,
  ): Promise<StoredCorrection[]> {
    const rows = await queryRows<{ namespace_id: string; event_id: string; corrected: string }>(
      client,
      CORRECTIONS,
      {
        from,
        to,
        namespaceId: after?.namespaceId ?? '',
        id: after?.id ?? '',
        correctedAt: after === undefined ? '' : formatMicros(after.correctedAt),
        limit,
      },
    )
    return rows.map((row) => ({
      namespaceId: row.namespace_id,
      id: row.event_id,
      correctedAt: parseMicros(row.corrected) ?? 0,
    }))
  },

  /** Accounts with usage that was accepted in a range of Unix seconds. */
  async listAccounts(
    { from, to }: { from: number; to: number },
    after: StoredAccount | undefined,
    limit: number,
  ): Promise<StoredAccount[]> {
    const rows = await queryRows<{ namespace_id: string; account_id: string }>(client, ACCOUNTS, {
      from,
      to,
      namespaceId: after?.namespaceId ?? '',
      accountId: after?.accountId ?? '',
      limit,
    })
    return rows.map((row) => ({ namespaceId: row.namespace_id, accountId: row.account_id }))
  },
})
