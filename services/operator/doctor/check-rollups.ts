import { type ClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { dirtySlotRepository, type OldestMark } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { inUse, rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { type Finding, ok, warning } from './finding.ts'

export const ROLLUPS = 'rollups'
/** Rollups, marks and unfinished epochs older than this are a warning. */
const LATE_S = 3_600
const WHERE_TO_LOOK = 'does npm run rollup run? Its log and tally_rollup_failures_total say what it fails at'
const UNFINISHED =
  'loaders ended before all of it was stored; when npm run loader and npm run rollup run, it is stored again and these marks are removed'

const OLD_USAGE = `
  SELECT 1 AS found FROM usage_events WHERE accepted_at < now() - toIntervalSecond({seconds:UInt32}) LIMIT 1`

/**
 * Checks how far rollups are behind. Answers are exact in any case, because readers take missing usage from the events.
 */
export async function checkRollups(client: ClickHouse): Promise<Finding[]> {
  const epochs = rollupEpochRepository(client)
  const [listed, now] = [await epochs.list(), await epochs.now()]
  const current = inUse(listed)
  const findings: Finding[] = []
  if (current === undefined) {
    const old = await queryRows(client, OLD_USAGE, { seconds: LATE_S })
    if (old.length > 0)
      findings.push(warning(ROLLUPS, `none were built yet, every answer reads all events: ${WHERE_TO_LOOK}`))
  } else if (now - current.closedThrough > LATE_S)
    findings.push(
      warning(ROLLUPS, `they end ${now - current.closedThrough} s ago, answers get slower: ${WHERE_TO_LOOK}`),
    )
  else if (current.closedThrough > now)
    findings.push(
      warning(
        ROLLUPS,
        `they end in ${current.closedThrough - now} s: the clock of ClickHouse was set back, and all usage counts as late until then`,
      ),
    )
  const cutShort = listed.find(({ state, changedAt }) => state === 'being built' && now - changedAt > LATE_S)
  if (cutShort !== undefined && current !== undefined)
    findings.push(
      warning(
        ROLLUPS,
        `epoch ${cutShort.epoch} was begun ${now - cutShort.changedAt} s ago: if npm run rebuild was cut short, run it again`,
      ),
    )
  findings.push(...(await checkMarks(client, now)))
  if (findings.length > 0) return findings
  return [ok(ROLLUPS, current === undefined ? 'none yet' : `up to ${now - current.closedThrough} s ago`)]
}

async function checkMarks(client: ClickHouse, now: number): Promise<Finding[]> {
  const { stored, pending } = await dirtySlotRepository(client).findOldest()
  const findings: Finding[] = []
  const waiting = ({ marks, placedAt }: OldestMark, whatToDo: string) => {
    if (now - placedAt > LATE_S)
      findings.push(
        warning(
          ROLLUPS,
          `${marks} marks of late usage wait, the oldest for ${now - placedAt} s, and their slots are read from the events: ${whatToDo}`,
        ),
      )
  }
  if (stored !== undefined)
    waiting(stored, 'raise ROLLUP_ROWS_PER_S when the rollup service runs without failures')
  if (pending !== undefined) waiting(pending, UNFINISHED)
  return findings
}
