import { ClickHouseError } from '@clickhouse/client'
import { LRUCache } from 'lru-cache'
import { nameOf } from './closed-sums.ts'
import { COUNTING_OF_MANY, type Counting } from './cover-query.ts'

/**
 * By their ids, in 0.6 of the CPU where events lie in some hundred parts, as while history is imported: FINAL goes through all of
 * these side by side. But each event takes memory, so ClickHouse is told to refuse many: each thread has a limit of its own.
 *
 * Why settings of the whole query: in a subquery a server may leave out those that a profile holds, and would not say so.
 */
const COUNTING_OF_FEW: Counting = {
  from: (ofKey) => `(
    SELECT account_id, source, tupleElement(newest, 1) AS quantity FROM (
      SELECT account_id, source, argMax((quantity, voided), version) AS newest FROM usage_events PREWHERE ${ofKey}
      GROUP BY account_id, source, id)
    WHERE tupleElement(newest, 2) = 0)`,
  settings: {
    max_threads: 2,
    max_rows_to_group_by: '100000',
    group_by_overflow_mode: 'throw',
    wait_end_of_query: 1,
  },
}
const TOO_MANY_ROWS = '158'
const REFUSED = new Set([
  TOO_MANY_ROWS,
  '164', // READONLY: these settings are not ours to choose
  '241', // MEMORY_LIMIT_EXCEEDED
  '452', // SETTING_CONSTRAINT_VIOLATION
])
/** For so long it is known that there were many. */
const MANY_FOR_MS = 600_000
const MANY_MAX = 50_000

/** Asks in the way of few events, and in that of many where they turn out to be many, or did so lately. */
export function fewOrMany() {
  /** Accounts that were asked for where there were many; and together with how few others at least. */
  const askedWithMany = new LRUCache<string, number>({ max: MANY_MAX, ttl: MANY_FOR_MS })
  return async <T>(
    ask: (counting: Counting) => Promise<T>,
    namespaceId: string,
    accountIds: readonly string[],
  ): Promise<T> => {
    const names = accountIds.map((accountId) => nameOf(namespaceId, accountId))
    const leastWithMany = (name: string) => askedWithMany.get(name) ?? Infinity
    if (names.some((name) => names.length >= leastWithMany(name))) return ask(COUNTING_OF_MANY)
    try {
      return await ask(COUNTING_OF_FEW)
    } catch (err) {
      if (!(err instanceof ClickHouseError) || !REFUSED.has(err.code)) throw err
      if (err.code === TOO_MANY_ROWS)
        for (const name of names) askedWithMany.set(name, Math.min(names.length, leastWithMany(name)))
      return ask(COUNTING_OF_MANY)
    }
  }
}
