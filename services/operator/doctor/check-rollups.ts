import { queryRows, type ClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { ok, warning, type Finding } from './finding.ts'

export const ROLLUPS = 'rollups'
/** Twelve slots, or what late usage may wait. */
const LATE_S = 3_600
const WHERE_TO_LOOK =
  'does npm run rollup run? Its log and tally_rollup_failures_total say why it does not get on'

// A mark counts by itself: one that was cancelled twice must not hide another.
const MARKS = `
  SELECT toString(count()) AS marks, toUnixTimestamp(min(placed_at)) AS oldest FROM (
    SELECT mark, min(placed_at) AS placed_at FROM (
      SELECT mark, any(placed_at) AS placed_at FROM usage_dirty_slots
      GROUP BY namespace_id, account_id, whole_day, slot, mark, stage HAVING sum(sign) > 0)
    GROUP BY mark)`
const OLD_USAGE = `
  SELECT 1 AS found FROM usage_events WHERE accepted_at < now() - toIntervalSecond({seconds:UInt32}) LIMIT 1`

/** How far rollups are behind. Whatever is found, answers are exact; what rollups lack is read from the events. */
export async function checkRollups(client: ClickHouse): Promise<Finding[]> {
  const epochs = rollupEpochRepository(client)
  const [known, now] = [await epochs.list(), await epochs.now()]
  const inUse = known.findLast(({ state }) => state === 'in use')
  const findings: Finding[] = []
  if (inUse === undefined) {
    const old = await queryRows(client, OLD_USAGE, { seconds: LATE_S })
    if (old.length > 0)
      findings.push(warning(ROLLUPS, `none were built yet, every answer reads all events: ${WHERE_TO_LOOK}`))
  } else if (now - inUse.closedThrough > LATE_S)
    findings.push(
      warning(ROLLUPS, `they end ${now - inUse.closedThrough} s ago, answers get slower: ${WHERE_TO_LOOK}`),
    )
  const cutShort = known.find(({ state, changedAt }) => state === 'being built' && now - changedAt > LATE_S)
  if (cutShort !== undefined && inUse !== undefined)
    findings.push(
      warning(
        ROLLUPS,
        `epoch ${cutShort.epoch} was begun ${now - cutShort.changedAt} s ago: if npm run rebuild was cut short, run it again`,
      ),
    )
  findings.push(...(await checkMarks(client, now)))
  if (findings.length > 0) return findings
  return [
    ok(ROLLUPS, inUse === undefined ? 'none yet' : `up to ${Math.max(0, now - inUse.closedThrough)} s ago`),
  ]
}

async function checkMarks(client: ClickHouse, now: number): Promise<Finding[]> {
  const [row] = await queryRows<{ marks: string; oldest: number }>(client, MARKS, {})
  const marks = Number(row?.marks ?? 0)
  const oldestS = now - (row?.oldest ?? now)
  if (marks === 0 || oldestS <= LATE_S) return []
  return [
    warning(
      ROLLUPS,
      `${marks} marks of late usage wait, the oldest for ${oldestS} s, and their slots are read from the events: raise ROLLUP_ROWS_PER_S when the rollup service runs without failures`,
    ),
  ]
}
