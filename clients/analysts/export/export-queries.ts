import { StartupError } from '../../../shared/errors/startup-error.ts'
import { formatMicros, parseMicros } from '../../../shared/time/micros-text.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'
import type { Window } from './manifest.ts'
import type { CountedRows } from './plan-windows.ts'
import { CHANGES, type Column, divisionOf, keyOf, orderOf, selectList } from './view-shape.ts'

/** Asks a short query. */
type Read = <Row extends readonly unknown[]>(query: string) => Promise<Row[]>

export async function readColumns(read: Read, view: string): Promise<Column[]> {
  const rows = await read<[name: string, type: string]>(`DESCRIBE TABLE ${view}`)
  return rows.map(([name, type]) => ({ name, type }))
}

/**
 * Chooses the time of the cut. For event_changes, only rows before it are exported, and no new rows can appear before
 * it: Tally knows what is accepted and not stored yet. For other views it is now, and each file has the rows of the
 * moment at which it is read.
 *
 * @throws StartupError when Tally does not know such a time yet
 */
export async function chooseCut(read: Read, view: string): Promise<Micros> {
  const query =
    view === CHANGES
      ? `SELECT DISTINCT toString(f.complete_up_to) FROM freshness AS f WHERE f.view = '${CHANGES}'`
      : "SELECT toString(now64(6, 'UTC'))"
  const [row] = await read<[time: string | null]>(query)
  const cut = parseMicros(row?.[0] ?? '')
  if (cut !== undefined) return cut
  throw new StartupError(
    'Tally does not know yet up to when its events are complete: there is no account, or it has just been started. Try again in some seconds',
  )
}

/** Counts the rows of each day and hour. */
export function countRows(
  read: Read,
  view: string,
  since: Micros | undefined,
  cut: Micros,
): Promise<CountedRows[]> {
  const division = divisionOf(view)
  if (division === undefined) return read(`SELECT 0, NULL, count() FROM ${view} AS v`)
  const { dayColumn, hourColumn } = division
  const hour = hourColumn === undefined ? 'NULL' : `toUnixTimestamp(toStartOfHour(v.${hourColumn}))`
  return read(`
    SELECT toUnixTimestamp(toDateTime(toDate(v.${dayColumn}), 'UTC')) AS the_day, ${hour} AS the_hour, count()
    FROM ${view} AS v WHERE ${conditions(view, since, cut)} GROUP BY the_day, the_hour ORDER BY the_day, the_hour`)
}

const timeOf = (at: string): string => `toDateTime64('${at}', 6, 'UTC')`

/** Leaves out what is later than the cut, in views that show when a row was accepted or changed. */
function conditions(view: string, since: Micros | undefined, cut: Micros): string {
  const before = timeOf(formatMicros(cut))
  if (view === 'events') return `v.accepted_at < ${before}`
  if (view !== CHANGES) return '1'
  return `v.changed_at >= ${timeOf(formatMicros(since ?? 0))} AND v.changed_at < ${before}`
}

/** The query of one file. */
export function queryOf(view: string, columns: readonly Column[], window: Window, cut: Micros): string {
  const { hours, part } = window
  const division = divisionOf(view)
  const wanted = [
    ...(view === 'events' ? [conditions(view, undefined, cut)] : []),
    ...(division === undefined ? [] : ofDay(division, window)),
    ...(hours === null || division?.hourColumn === undefined
      ? []
      : [
          // In this form, and no other, the table's index is used: only these hours are read.
          `toStartOfFiveMinutes(v.${division.hourColumn}) >= toDateTime(${hours[0]}, 'UTC')`,
          `toStartOfFiveMinutes(v.${division.hourColumn}) < toDateTime(${hours[1]}, 'UTC')`,
        ]),
    ...(part[1] === 1 ? [] : [`cityHash64(${keyOf(columns)}) % ${part[1]} = ${part[0]}`]),
  ]
  const where = wanted.length === 0 ? '' : `WHERE ${wanted.join(' AND ')}`
  return `SELECT ${selectList(columns)} FROM ${view} AS v ${where} ORDER BY ${orderOf(columns)}`
}

function ofDay(
  { dayColumn, dayType }: NonNullable<ReturnType<typeof divisionOf>>,
  { from, to }: Window,
): string[] {
  if (dayType === 'Date') return [`v.${dayColumn} = toDate('${from?.slice(0, 10) ?? ''}')`]
  return [`v.${dayColumn} >= ${timeOf(from ?? '')}`, `v.${dayColumn} < ${timeOf(to ?? '')}`]
}
