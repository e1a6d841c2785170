import type { Period } from '../../domain/period.ts'
import { type Measure, MEASURES } from '../../domain/usage-aggregate.ts'

/** An event's id begins with the second in which the event occurred. */
export const NEWEST = '(substring(newest_id, 1, 4), newest_at, newest_id)'

/** SQL for each measure: its columns in a row of rollups and in an event, and the expression that merges them. */
const COLUMNS: Record<Measure, { rolled: string; ofEvent: string; merged: string }> = {
  count: { rolled: 'count AS n', ofEvent: 'toUInt64(1) AS n', merged: 'toString(sum(n)) AS count' },
  sum: {
    rolled: 'sum AS total',
    ofEvent: 'toDecimal256(quantity, 18) AS total',
    merged: 'toString(sum(total)) AS sum',
  },
  min: { rolled: 'min AS lowest', ofEvent: 'quantity AS lowest', merged: 'toString(min(lowest)) AS min' },
  max: { rolled: 'max AS highest', ofEvent: 'quantity AS highest', merged: 'toString(max(highest)) AS max' },
  latest: {
    rolled: 'latest AS newest, latest_accepted_at AS newest_at, latest_id AS newest_id',
    ofEvent: 'quantity AS newest, accepted_at AS newest_at, id AS newest_id',
    merged: `toString(argMax(newest, ${NEWEST})) AS latest`,
  },
}

/** The columns of the given measures, or of all measures if none are given. */
export const rollupColumnsOf = ({ measures = MEASURES }: { measures?: readonly Measure[] }) => {
  const join = (part: keyof (typeof COLUMNS)[Measure]) =>
    ['source', ...measures.map((measure) => COLUMNS[measure][part])].join(', ')
  return {
    rolled: join('rolled'),
    ofEvent: join('ofEvent'),
    merged: join('merged'),
    /** `merged` without the source, for queries of one source. */
    measured: measures.map((measure) => COLUMNS[measure].merged).join(', '),
  }
}

/** SQL for the identity of the event with the latest quantity. */
export const LATEST_EVENT = `toString(toUnixTimestamp64Micro(tupleElement(max(${NEWEST}), 2))) AS latest_accepted_at,
    lower(hex(tupleElement(max(${NEWEST}), 3))) AS latest_id`

/** All measures, and the identity of the event with the latest quantity, so that sets of events can be merged later. */
export const MEASURED_COLUMNS = { ...rollupColumnsOf({}), latestEvent: LATEST_EVENT }

/** SQL for the second in which a time's period begins, from the SQL for the time. */
export const PERIOD_START: Record<Period, (time: string) => string> = {
  day: (time) => `toUnixTimestamp(toStartOfDay(toDateTime(${time}, 'UTC'))) AS period_start`,
  month: (time) => `toUnixTimestamp(toDateTime(toStartOfMonth(${time}), 'UTC')) AS period_start`,
}
