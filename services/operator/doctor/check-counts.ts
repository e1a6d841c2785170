import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inEveryNamespace } from '../../../shared/postgres/core/transaction.ts'
import { everyUsageCountRepository } from '../../../shared/postgres/usage-counts.ts'
import { monthText } from '../../../shared/usage/recount-usage.ts'
import { failed, type Finding, ok, warning } from './finding.ts'

/** An older count is a warning. Usage is counted every six hours, so this is four times that interval. */
const LATE_S = 86_400
const HOUR_S = 3_600

/** Checks whether the last count of usage found that ClickHouse has lost events. */
export async function checkCounts(pool: Pool): Promise<Finding[]> {
  const part = 'usage counted'
  const { missing, months, ageS } = await inEveryNamespace(pool, (db) =>
    everyUsageCountRepository(db).summarise(),
  )
  if (missing > 0)
    return [
      failed(
        part,
        `ClickHouse has lost ${missing} events of ${months.map(monthText).join(', ')} that it had: docs/operations.md says what to do under "When ClickHouse has lost a part"`,
      ),
    ]
  if (ageS === undefined) return [ok(part, 'not yet, there is no usage from more than an hour ago')]
  const says = `last ${Math.round(ageS / HOUR_S)} h ago, and nothing was missing`
  if (ageS > LATE_S) return [warning(part, `${says}: does npm run rollup run?`)]
  return [ok(part, says)]
}
