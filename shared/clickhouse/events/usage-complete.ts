import { formatMicros } from '../../time/micros-text.ts'
import type { Micros } from '../../time/microsecond-clock.ts'
import type { ClickHouse } from '../clickhouse.ts'

/** Up to when usage is complete, which the analysts' view `freshness` shows. */
export const usageCompleteRepository = (client: ClickHouse) => ({
  /** @param completeUpTo every event and every correction that was accepted before is stored */
  async note(completeUpTo: Micros): Promise<void> {
    await client.insert({
      table: 'usage_complete',
      values: [{ one: 1, complete_up_to: formatMicros(completeUpTo) }],
      columns: ['one', 'complete_up_to'],
      format: 'JSONEachRow',
    })
  },

  /** Called when stored usage may be missing, and is about to be loaded again. */
  async forget(): Promise<void> {
    await client.command({ query: 'TRUNCATE TABLE usage_complete' })
  },
})
