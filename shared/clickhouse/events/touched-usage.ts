import type { UsageSource } from '../../domain/usage-source.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'

/** An account and a source whose usage may have changed. */
export interface TouchedUsage {
  namespaceId: string
  accountId: string
  source: UsageSource
}

/**
 * An account and a source whose usage was corrected. `storedAt` is when the correction was stored, as text that serves
 * only to distinguish entries.
 */
export type CorrectedUsage = TouchedUsage & { storedAt: string }

interface AcceptedRange {
  /** The range of acceptance in Unix seconds, both ends included. */
  from: number
  to: number
  /** Events that were accepted at or after this second are listed, too. */
  recentFrom: number
  limit: number
}

interface TouchedRow {
  namespace_id: string
  account_id: string
  source: string
}

// The list by acceptance is sorted by namespace first, so the index skips the namespaces that are not wanted.
const ACCEPTED = `
  SELECT DISTINCT namespace_id, account_id, source FROM usage_events_by_acceptance
  WHERE startsWith(source, 'metric_')
    AND accepted_second >= toDateTime(least({from:UInt32}, {recentFrom:UInt32}), 'UTC')
    AND (accepted_second BETWEEN toDateTime({from:UInt32}, 'UTC') AND toDateTime({to:UInt32}, 'UTC')
      OR accepted_second >= toDateTime({recentFrom:UInt32}, 'UTC'))`
const OF_NAMESPACES = 'AND namespace_id IN {namespaceIds:Array(String)}'
const AT_MOST = 'LIMIT {limit:UInt32}'

const CORRECTED = `
  SELECT DISTINCT toString(stored_at) AS stored, namespace_id, account_id, source FROM corrected_usage
  WHERE stored_at >= now64(6, 'UTC') - toIntervalSecond({withinS:UInt32}) AND startsWith(source, 'metric_')
  LIMIT {limit:UInt32}`

/**
 * The maximum number of namespaces that a query names: each takes 39 bytes of a parameter, and a server accepts 128
 * KiB. A query for more namespaces reads all namespaces.
 */
const NAMESPACES_NAMED_MAX = 1_000

/** Finds accounts and metrics whose usage changed recently, in all namespaces. */
export const touchedUsageRepository = (client: ClickHouse) => ({
  /**
   * Accounts and metrics with events that were accepted in a range of time and are stored by now.
   *
   * @param namespaceIds the namespaces wanted; the answer may contain others
   */
  async listAccepted(
    namespaceIds: readonly string[],
    { from, to, recentFrom, limit }: AcceptedRange,
  ): Promise<TouchedUsage[]> {
    const named = namespaceIds.length <= NAMESPACES_NAMED_MAX
    const rows = await queryRows<TouchedRow>(
      client,
      [ACCEPTED, ...(named ? [OF_NAMESPACES] : []), AT_MOST].join('\n'),
      { from, to, recentFrom, limit, ...(named ? { namespaceIds } : {}) },
    )
    return rows.map(touchedFromRow)
  },

  /** Accounts and metrics whose corrections were stored in the last seconds, by ClickHouse's clock. */
  async listCorrected(withinS: number, limit: number): Promise<CorrectedUsage[]> {
    const rows = await queryRows<TouchedRow & { stored: string }>(client, CORRECTED, { withinS, limit })
    return rows.map((row) => ({ ...touchedFromRow(row), storedAt: row.stored }))
  },
})

const touchedFromRow = (row: TouchedRow): TouchedUsage => ({
  namespaceId: row.namespace_id,
  accountId: row.account_id,
  source: row.source,
})
