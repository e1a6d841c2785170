import { DAY_S, utcDay } from './time.ts'

/** Which usage is asked for. */
export interface SqlQuestion {
  /** The id of the metric or the code of the currency. */
  source: string
  isMetric: boolean
  aggregation: 'sum' | 'min' | 'max' | 'avg' | 'latest' | 'count'
  /** Whole UTC days. */
  startAt: number
  endAt: number
  groupBy: 'account' | 'property'
  property: string
}

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, (character) => `\\${character}`)}'`

/** Averages are of decimals: avg() of ClickHouse would be a float. */
const OF_EVENTS = {
  sum: 'sum(e.quantity)',
  min: 'min(e.quantity)',
  max: 'max(e.quantity)',
  avg: 'sum(e.quantity) / count()',
  latest: 'argMax(e.quantity, (e.occurred_at, e.accepted_at, e.event_id))',
  count: 'count()',
} as const

/** Writes the statement by which an analyst gets all groups, however many there are. The views are in docs/guides/analysts. */
export function usageSql(question: SqlQuestion): string {
  if (question.groupBy === 'property') return byProperty(question)
  const { aggregation } = question
  return aggregation === 'sum' || aggregation === 'count' ? byDays(question) : byEvents(question)
}

const ofSource = (view: string, { source, isMetric }: SqlQuestion): string =>
  `${view}.${isMetric ? 'metric_id' : 'currency'} = ${quoted(source)}`

const inEvents = (question: SqlQuestion): string =>
  `WHERE ${ofSource('e', question)}
  AND e.occurred_at >= toDateTime(${quoted(utcDay(question.startAt))}, 'UTC')
  AND e.occurred_at < toDateTime(${quoted(utcDay(question.endAt))}, 'UTC')`

function byDays(question: SqlQuestion): string {
  const measure = question.aggregation === 'count' ? 'sum(u.events)' : 'sum(u.quantity)'
  return `SELECT u.account_id, a.name, ${measure} AS used, sum(u.events) AS event_count
FROM daily_usage AS u
LEFT ANY JOIN accounts AS a ON a.account_id = u.account_id
WHERE ${ofSource('u', question)}
  AND u.day >= ${quoted(utcDay(question.startAt))}
  AND u.day <= ${quoted(utcDay(question.endAt - DAY_S))}
GROUP BY u.account_id, a.name
ORDER BY used DESC, u.account_id`
}

const byEvents = (question: SqlQuestion): string =>
  `SELECT e.account_id, a.name, ${OF_EVENTS[question.aggregation]} AS used, count() AS event_count
FROM events AS e
LEFT ANY JOIN accounts AS a ON a.account_id = e.account_id
${inEvents(question)}
GROUP BY e.account_id, a.name
ORDER BY used DESC, e.account_id`

/** JSON functions read nothing beside a number of more than 64 bits, so longer numbers are cut first. */
const READABLE = String.raw`if(match(e.properties, '[0-9]{19}'),
        replaceRegexpAll(e.properties, '("(?:[^"\\\\]|\\\\.)*")|([0-9])[0-9]{18,}', '\\1\\2'),
        e.properties)`

const byProperty = (question: SqlQuestion): string =>
  `WITH JSONExtractRaw(
      ${READABLE},
      ${quoted(question.property)}
    ) AS raw
SELECT
    multiIf(startsWith(raw, '"'), JSONExtractString(raw), match(raw, '^[-0-9tf]'), raw, '') AS value,
    ${OF_EVENTS[question.aggregation]} AS used,
    count() AS event_count
FROM events AS e
${inEvents(question)}
GROUP BY value
ORDER BY used DESC, value`
