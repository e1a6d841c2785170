import { ClickHouseException } from '../exception.ts'
import type { SyntaxNode } from './syntax-tree.ts'
import type { Token } from './tokens.ts'

/**
 * The engine's own tables that tools read a schema from. The engine shows the analysts' role only their database in
 * them. Whatever is absent here is refused, for example `processes`, which shows the queries of others.
 */
const SYSTEM_TABLES = [
  'clusters',
  'columns',
  'data_type_families',
  'databases',
  'dictionaries',
  'functions',
  'mutations',
  'one',
  'parts',
  'settings',
  'tables',
  'time_zones',
]
const INFORMATION_SCHEMA = ['columns', 'key_column_usage', 'schemata', 'tables', 'views']

/** By the names that a query may use. */
export const METADATA_TABLES: readonly string[] = [
  ...SYSTEM_TABLES.map((table) => `system.${table}`),
  ...INFORMATION_SCHEMA.map((table) => `information_schema.${table}`),
  ...INFORMATION_SCHEMA.map((table) => `INFORMATION_SCHEMA.${table.toUpperCase()}`),
]

/**
 * The only one of these tables that shows folders of the machine, and its columns that do. Paths in the other tables
 * begin inside these folders.
 */
export const DATABASES_TABLE = 'system.databases'
export const HIDDEN_COLUMNS: readonly string[] = ['data_path', 'metadata_path']

/**
 * Refuses a query over system.databases that names a hidden column anywhere, or that takes columns without naming them.
 * Why before the engine resolves the query: while it does so, it computes scalar subqueries, and its errors show
 * values.
 *
 * @throws ClickHouseException
 */
export function requireShownColumns(root: SyntaxNode, tokens: readonly Token[]): void {
  if (!tokens.some((token) => nameOf(token) === 'databases')) return // no query without that name reads the table
  const nodes = [...walk(root)]
  const names = nodes.filter(({ node }) => node.detail === DATABASES_TABLE).map(({ node }) => node.kind)
  if (names.length === 0) return
  const isHidden = (token: Token) => HIDDEN_COLUMNS.includes(nameOf(token))
  const isUnnamed = ({ node, parent }: { node: SyntaxNode; parent: string }) =>
    /Asterisk|Matcher/.test(node.kind) && parent !== 'count'
  if (tokens.some(isHidden) || nodes.some(isUnnamed) || names.some((kind) => kind !== 'TableIdentifier'))
    throw new ClickHouseException(
      'ACCESS_DENIED',
      `the columns ${HIDDEN_COLUMNS.join(' and ')} of ${DATABASES_TABLE} are not for analysts: name the other columns, without *.`,
    )
}

const nameOf = ([, text]: Token): string => text.replaceAll(/["`]/g, '')

/** Yields all nodes, each with the function that it is an argument of. */
function* walk(node: SyntaxNode, parent = ''): Generator<{ node: SyntaxNode; parent: string }> {
  yield { node, parent }
  const inside = node.kind === 'ExpressionList' ? parent : node.kind === 'Function' ? node.detail : ''
  for (const child of node.children) yield* walk(child, inside)
}
