/** The view of all changes of events. */
export const CHANGES = 'event_changes'

/** A column, as DESCRIBE shows it. */
export interface Column {
  name: string
  type: string
}

/** How a view is divided into files: by day of `day`, and a large day by hour of `hour`. Both are expressions of SQL. */
interface Division {
  /** The column of the days, which the conditions are on. */
  dayColumn: string
  dayType: 'Date' | 'DateTime' | 'DateTime64'
  /** Of a large day only a part is read for each file, as the table of events is in the order of this column. */
  hourColumn?: string
}

const BY_OCCURRENCE: Division = { dayColumn: 'occurred_at', dayType: 'DateTime', hourColumn: 'occurred_at' }
const BY_DAY: Division = { dayColumn: 'day', dayType: 'Date' }

/** Views that are not listed are small, and one file each. */
const DIVISIONS: Readonly<Record<string, Division>> = {
  [CHANGES]: { dayColumn: 'changed_at', dayType: 'DateTime64', hourColumn: 'occurred_at' },
  events: BY_OCCURRENCE,
  event_revisions: BY_OCCURRENCE,
  daily_usage: BY_DAY,
  daily_totals: BY_DAY,
}

export const divisionOf = (view: string): Division | undefined =>
  Object.hasOwn(DIVISIONS, view) ? DIVISIONS[view] : undefined

/**
 * The columns that a file has. Tokens are left out: they follow from the properties. Each decimal is there once. Exported
 * for the sources of the dbt package.
 *
 * @internal
 */
export function exportedColumns<Of extends Column>(columns: readonly Of[]): Of[] {
  const names = new Set(columns.map(({ name }) => name))
  return columns.filter(({ name, type }) => !/^Array\(FixedString/.test(type) && !isNarrow(name, names))
}

/**
 * The columns of a file. Decimals are narrowed to DECIMAL(38, 18), which every reader knows; one that does not fit ends
 * the export with an error.
 *
 * @returns a list for SELECT, over the view by the name v
 */
export function selectList(columns: readonly Column[]): string {
  const names = new Set(columns.map(({ name }) => name))
  return exportedColumns(columns)
    .map(({ name, type }) => `${expressionOf(name, type, names)} AS ${name}`)
    .join(', ')
}

const NARROW = '_38'

/** Whether a column is the narrow form of another one. */
const isNarrow = (name: string, names: ReadonlySet<string>): boolean =>
  name.endsWith(NARROW) && names.has(name.slice(0, -NARROW.length))

function expressionOf(name: string, type: string, names: ReadonlySet<string>): string {
  if (/^(Nullable\()?Decimal\(76, 18\)/.test(type))
    return names.has(name + NARROW) ? `v.${name}${NARROW}` : `toDecimal128(v.${name}, 18)`
  return /^(Nullable\()?DateTime\('UTC'\)/.test(type) ? `toDateTime64(v.${name}, 6, 'UTC')` : `v.${name}`
}

/** What rows are divided by when there are too many of them: a text that a row keeps for good, such as its id. */
export function keyOf(columns: readonly Column[]): string {
  const texts = columns.filter(
    ({ type, name }) => /^(LowCardinality\()?String/.test(type) && name !== 'namespace_id',
  )
  return `ifNull(toString(v.${(texts[0] ?? columns[0])?.name ?? ''}), '')`
}

/** The order of rows in a file. Ids of events begin with the time. */
export function orderOf(columns: readonly Column[]): string {
  const ids = ['namespace_id', 'event_id', 'revision'].filter((id) => columns.some(({ name }) => name === id))
  return ids.includes('event_id') ? ids.map((id) => `v.${id}`).join(', ') : 'ALL'
}
