import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { PROJECT_ROOT } from '../config/project-root.ts'
import { type ClickHouse, queryRows } from './clickhouse.ts'
import { quoteIdentifier } from './quote-identifier.ts'
import { quoteLiteral } from './quote-literal.ts'
import { type AnalystView, readViewsContract, type ViewColumn } from './views-contract.ts'

/** Which views are made, and where. Names of databases are letters, digits and underscores. */
export interface ViewsScope {
  /** The services' database. */
  database: string
  /** The analysts' database. */
  into: string
  /** The namespace of the one company whose usage the views have. Without it they have the usage of all companies. */
  namespaceId?: string | undefined
}

const FOLDER = path.join(PROJECT_ROOT, 'clickhouse/views')

/** Comments at the end of an SQL line. Such a line is only in the views of all companies, or of one company. */
const ALL_COMPANIES = ' -- all companies'
const ONE_COMPANY = ' -- one company'

/**
 * Makes the analysts' views, and their database if it is missing. Does nothing if the views are up to date. Each view
 * is replaced in one step, so that queries always find it.
 *
 * The comment of the database has a digest of the statements that made its views. It is emptied before views are made.
 * So after a crash, the next call makes the views again. It also drops what the crash left of a replacement.
 *
 * @returns whether views were made
 */
export async function makeAnalystViews(client: ClickHouse, scope: ViewsScope): Promise<boolean> {
  const { into } = scope
  requireName(into)
  const statements = await viewStatements(scope)
  const note = `Usage for analysts; made from ${hash('sha256', JSON.stringify(statements), 'hex').slice(0, 16)}`
  const [found] = await queryRows<{ comment: string }>(
    client,
    'SELECT comment FROM system.databases WHERE name = {into:String}',
    { into },
  )
  if (found?.comment === note) return false
  const setNote = (text: string) =>
    client.command({ query: `ALTER DATABASE ${into} MODIFY COMMENT ${quoteLiteral(text)}` })
  if (found === undefined) await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${into}` })
  else if (found.comment !== '') await setNote('')
  await dropLeftViews(client, into)
  for (const query of statements) await client.command({ query })
  await setNote(note)
  return true
}

/**
 * While ClickHouse replaces a view, the name of one of the two begins with this: the new one until it has its place,
 * then the old one until it is dropped.
 */
const REPLACING = '_tmp_replace_'

/** Drops views that a crash left during a replacement. Otherwise analysts would see them. */
async function dropLeftViews(client: ClickHouse, into: string): Promise<void> {
  const left = await queryRows<{ name: string }>(
    client,
    'SELECT name FROM system.tables WHERE database = {into:String} AND startsWith(name, {replacing:String})',
    { into, replacing: REPLACING },
  )
  for (const { name } of left)
    await client.command({ query: `DROP VIEW IF EXISTS ${into}.${quoteIdentifier(name)}` })
}

/** The statements that make the views, in the order of the contract. */
async function viewStatements(scope: ViewsScope): Promise<string[]> {
  requireName(scope.database)
  const { namespaceColumn, views } = readViewsContract()
  const first = scope.namespaceId === undefined ? [namespaceColumn] : []
  return Promise.all(
    views.map(async (view) =>
      createStatement(view, [...first, ...view.columns], await selectOf(view.name, scope), scope),
    ),
  )
}

/** The view reads with the rights of the user who makes it. Analysts have no rights on the tables that it reads. */
const createStatement = (
  { name, meaning }: AnalystView,
  columns: readonly ViewColumn[],
  select: string,
  { into }: ViewsScope,
): string => `CREATE OR REPLACE VIEW ${into}.${name}
(
${columns.map((one) => `    ${one.name} ${one.type} COMMENT ${quoteLiteral(commentOf(one))}`).join(',\n')}
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS ${select}
COMMENT ${quoteLiteral(meaning)}`

/**
 * Returns the comment of a column.
 *
 * @internal
 */
export const commentOf = ({ meaning, unit }: Pick<ViewColumn, 'meaning' | 'unit'>): string =>
  unit === undefined ? meaning : `${meaning} Unit: ${unit}.`

/** Returns the SELECT of a view, from its file: without comments, and with only the lines for its scope. */
async function selectOf(name: string, scope: ViewsScope): Promise<string> {
  const { database, namespaceId } = scope
  const [inScope, outOfScope] =
    namespaceId === undefined ? [ALL_COMPANIES, ONE_COMPANY] : [ONE_COMPANY, ALL_COMPANIES]
  const lines = (await withParts(name))
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('--') && !line.endsWith(outOfScope))
  const text = lines
    .map((line) => (line.endsWith(inScope) ? line.slice(0, -inScope.length) : line))
    .join('\n')
  const filled = text
    .replaceAll('{database}', database)
    .replaceAll('{namespace}', () => quoteLiteral(namespaceId ?? ''))
  const left = /\{[^}]*\}|--/.exec(filled)?.[0]
  if (left !== undefined) throw new Error(`the statement of the view ${name} still has ${left}`)
  return filled.trimEnd()
}

const PART = /\{part (\w+)\}/g

/** Returns the text of a view's file, including the parts that several views share. */
async function withParts(name: string): Promise<string> {
  const text = await readText(`${name}.sql`)
  const names = [...text.matchAll(PART)].map(([, part = '']) => part)
  const parts = new Map<string, string>()
  for (const part of names) parts.set(part, await readText(`parts/${part}.sql`))
  return text.replaceAll(PART, (_, part: string) => `\n${parts.get(part) ?? ''}`)
}

const texts = new Map<string, string>()

/** Reads a file of the folder, once: the views of many companies are made from the same files. */
async function readText(file: string): Promise<string> {
  const text = texts.get(file) ?? (await readFile(path.join(FOLDER, file), 'utf8'))
  texts.set(file, text)
  return text
}

function requireName(database: string): void {
  if (!/^\w+$/.test(database))
    throw new Error(`not a name for a database of analysts: ${JSON.stringify(database)}`)
}
