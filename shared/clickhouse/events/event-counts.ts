import { randomUUID } from 'node:crypto'
import type { Micros } from '../../time/microsecond-clock.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'

/** The number of events of a namespace in a month. */
export interface EventCount {
  namespaceId: string
  /** Events accepted before the time that was given as `again`. */
  again: number
  /** Events accepted before the time that was given as `now`. */
  now: number
}

const MONTHS = `
  SELECT DISTINCT toUInt32(partition) AS month FROM system.parts
  WHERE active AND database = currentDatabase() AND table = 'usage_events' ORDER BY month`
// The query runs on one thread, because reports and requests are more urgent. All rows of an event are of one month, so
// FINAL can merge each partition by itself.
const COUNT = `
  SELECT namespace_id,
    toString(countIf(toUnixTimestamp64Micro(accepted_at) < {again:Int64})) AS again,
    toString(countIf(toUnixTimestamp64Micro(accepted_at) < {now:Int64})) AS now
  FROM usage_events FINAL
  WHERE toYYYYMM(occurred_at) = {month:UInt32}
  GROUP BY namespace_id
  SETTINGS max_threads = 1, do_not_merge_across_partitions_select_final = 1`
const KILL = "KILL QUERY WHERE Settings['log_comment'] = {comment:String} ASYNC"

/** Counts events, each once, including corrected and voided ones. */
export const eventCountRepository = (client: ClickHouse) => {
  /** Identifies the statements of this process. */
  const comment = `event counts:${randomUUID()}`
  return {
    /** The months that have events, as 202609. */
    async listMonths(): Promise<number[]> {
      return (await queryRows<{ month: number }>(client, MONTHS, {})).map(({ month }) => month)
    },

    /**
     * Counts the events of each namespace that has events in a month.
     *
     * @param again events that were accepted before this time are counted as `again`
     * @param now events that were accepted before this time are counted as `now`
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

    /** Cancels the counts of this process that are running. */
    async cancel(): Promise<void> {
      await client.command({ query: KILL, query_params: { comment } })
    },
  }
}
