import type { ClickHouseSettings } from '@clickhouse/client'
import { ClickHouseException } from '../exception.ts'
import { isValues } from './judge-tree.ts'
import { DATABASES_TABLE, HIDDEN_COLUMNS } from './metadata-tables.ts'
import type { CallRules } from './require-harmless-call.ts'

/** Makes EXPLAIN QUERY TREE show all of a query. Otherwise it has `__getScalar` in place of a scalar subquery. */
export const SHOWN_WHOLE: ClickHouseSettings = { enable_scalar_subquery_optimization: 0 }

/** The table that the engine reads for a SELECT without FROM, and those that store the rows of a recursive CTE. */
const ANALYZER_TABLES = /^(?:system\.one|_temporary_and_external_tables\._tmp_[0-9a-f-]{36})$/

/**
 * Judges a query once more, as the engine has resolved it (EXPLAIN QUERY TREE). Whatever a name turned out to mean,
 * only allowed functions and the analysts' views may be used. The first steps already refuse everything that is
 * refused here. This step is for cases that nobody has thought of.
 *
 * @param lines of EXPLAIN QUERY TREE, under SHOWN_WHOLE
 * @throws ClickHouseException when something else is used
 */
export function judgeResolved(lines: readonly string[], { functions, tables }: CallRules): void {
  requireHiddenUnread(lines)
  for (const line of lines) {
    const text = line.trimStart()
    if (text.startsWith('TABLE_FUNCTION ') && !valuesOf(text, ' table_function_name: ').every(isValues))
      throw refusal('a table function')
    if (text.startsWith('FUNCTION id: '))
      for (const name of valuesOf(text, ' function_name: ')) requireFunction(name, functions)
    if (text.startsWith('TABLE id: '))
      for (const name of valuesOf(text, ' table_name: ')) requireTable(name, tables)
  }
}

/** Refuses columns that name folders of the machine. */
function requireHiddenUnread(lines: readonly string[]): void {
  const hiding = new Set(lines.flatMap((line) => HIDING_TABLE.exec(line)?.slice(1) ?? []))
  for (const line of hiding.size === 0 ? [] : lines) {
    const text = line.trimStart()
    if (!text.startsWith('COLUMN id: ')) continue
    const names = valuesOf(text, ' column_name: ').filter((name) =>
      HIDDEN_COLUMNS.includes(name.split('.')[0] ?? ''),
    )
    if (names.length > 0 && valuesOf(text, ' source_id: ').some((id) => hiding.has(id)))
      throw refusal(`the column ${names.join()} of ${DATABASES_TABLE}`)
  }
}

const HIDING_TABLE = new RegExp(`^\\s*TABLE id: (\\d+),.* table_name: ${DATABASES_TABLE}(?:,|$)`)

function requireFunction(name: string, functions: CallRules['functions']): void {
  if (functions.findAllowed(name) === undefined) throw refusal(`the function ${name}`)
}

function requireTable(name: string, tables: ReadonlySet<string>): void {
  if (!ANALYZER_TABLES.test(name) && !tables.has(name)) throw refusal(`the table ${name}`)
}

/**
 * Returns all values of a key in a line, and also text of an alias or a type that looks like such a value. So a
 * harmless query may be refused, but no harmful one is allowed.
 */
function valuesOf(line: string, key: string): string[] {
  const values = line.split(key).slice(1)
  if (values.length === 0) throw refusal('a part of the query that Tally does not understand')
  return values.map((value) => (value.split(',')[0] ?? '').trim())
}

const refusal = (what: string): ClickHouseException =>
  new ClickHouseException(
    'ACCESS_DENIED',
    `${what} is not allowed: analysts may run one SELECT over their views.`,
  )
