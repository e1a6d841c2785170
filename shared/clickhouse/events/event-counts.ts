import { randomUUID } from 'node:crypto'
import type { Micros } from '../../time/microsecond-clock.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'

/** How many events of a namespace there are in a month. */
export interface EventCount {
  namespaceId: string
  /** Of those accepted before the first time that was named. */
  again: number
  /** … and before the second. */
  now: number
}

const MONTHS = `
  SELECT DISTINCT toUInt32(partition) AS month FROM system.parts
  WHERE active AND database = currentDatabase() AND table = 'usage_events' ORDER BY month`
// One thread: whoever reports and asks goes first. Rows of one event are of one month: partitions are read by themselves.
const COUNT = `
  SELECT namespace_id,
    toString(countIf(toUnixTimestamp64Micro(accepted_at) < {again:Int64})) AS again,
    toString(countIf(toUnixTimestamp64Micro(accepted_at) < {now:Int64})) AS now
  FROM usage_events FINAL
  WHERE toYYYYMM(occurred_at) = {month:UInt32}
  GROUP BY namespace_id
  SETTINGS max_threads = 1, do_not_merge_across_partitions_select_final = 1`
const KILL = "KILL QUERY WHERE Settings['log_comment'] = {comment:String} ASYNC"

/** Counts events, each once, corrected and voided ones too. */
export const eventCountRepository = (client: ClickHouse) => {
  /** What the statements of this process are found by. */
  const comment = `event counts:${randomUUID()}`
  return {
    /** The months there are events of, as 202609. */
    async listMonths(): Promise<number[]> {
      return (await queryRows<{ month: number }>(client, MONTHS, {})).map(({ month }) => month)
    },

    /**
     * Of each namespace that has events in a month.
     *
     * @param again before when what counts as `again` was accepted
     * @param now … and what counts as `now`
     */
    async count(month: number, again: Micros, now: Micros): Promise<EventCount[]> {
      const rows = await queryRows<{ namespace_id: string; again: string; now: string }>(
        client,
        COUNT,
        { month, again, now },
        { log_comment: comment },
      )
      return rows.map((row) => ({
        namespaceId: row.namespace_id,
        again: Number(row.again),
        now: Number(row.now),
      }))
    },

    /** Ends a count that is under way. */
    async cancel(): Promise<void> {
      await client.command({ query: KILL, query_params: { comment } })
    },
  }
}
