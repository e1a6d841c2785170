import { parseArgs } from 'node:util'
import { companyDatabase, EMBEDDED_COMPANIES_MAX } from '../../../shared/clickhouse/analytics-database.ts'
import { queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { makeCompanyViews } from '../../../shared/clickhouse/company-views.ts'
import { type Analyst, newAnalystPassword } from '../../../shared/domain/analyst.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import {
  type AnalystDatabase,
  analystNameTaken,
  analystRepository,
} from '../../../shared/postgres/analysts.ts'
import { auditTrailRepository } from '../../../shared/postgres/audit-trail.ts'
import type { Company } from '../../../shared/postgres/companies.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { NAMES } from '../../../shared/redis/names.ts'
import { formatTable } from '../../../shared/text/format-table.ts'
import { addAnalyst, enterCompany, requireAnalystName } from '../analysts/add-analyst.ts'
import { connectionBlocks } from '../analysts/connection-blocks.ts'
import { serverStatements } from '../analysts/server-statements.ts'
import type { Command, CommandContext, CommandDeps } from '../command.ts'
import { companyNamed } from '../find-company.ts'
import { unknownAction } from '../unknown-action.ts'

const HEADINGS = ['analyst', 'company', 'created', 'state']
const WORKSPACE = '--workspace'
/** On a server, numbers are only limited by their column. */
const NUMBERS_MAX = 2_147_483_647

type Print = CommandContext['print']

/** npm run analysts: those who query the usage of one company in SQL. */
export const analysts: Command = {
  name: 'analysts',
  about: 'adds, lists and revokes analysts, who query the usage of one company in SQL',
  notes: [
    'An analyst signs in at the port of analysts (CLICKHOUSE_HTTP_PORT) with a name and a password, or with the password alone',
    'as a Bearer token. The password is shown once, when the analyst is added; Tally keeps only its digest. To replace it,',
    'revoke the analyst and add one of the same name. A ClickHouse server has users of its own: sql prints the statements that',
    'make one, for its administrator.',
    '',
    '  --company NAME     default unless given; npm run companies -- list names them',
    '  --name NAME        the name to sign in with; unique over all companies',
    '  --workspace        of sql: the user may also make tables, as dbt does, in a database of their own',
    '',
  ],
  usage: [
    'analysts -- list [--company NAME]',
    'analysts -- add [--company NAME] --name NAME',
    'analysts -- revoke NAME',
    'analysts -- sql [--company NAME] --name NAME [--workspace]',
  ],
  async run(args, deps, { print }) {
    const [action = '', ...rest] = args
    switch (action) {
      case 'list':
        return list(rest, deps, print)
      case 'add':
        return add(rest, deps, print)
      case 'revoke':
        return revoke(rest, deps, print)
      case 'sql':
        return sql(rest, deps, print)
      default:
        throw unknownAction('analysts', ['list', 'add', 'revoke', 'sql'], action)
    }
  },
}

async function list(args: readonly string[], { pool }: CommandDeps, print: Print): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { company: { type: 'string' } } })
  const company = values.company === undefined ? undefined : await companyNamed(pool, values.company)
  const rows = (await analystRepository(pool).list(company?.id)).map((analyst) => [
    analyst.name,
    analyst.company.name,
    analyst.createdAt.toISOString(),
    stateOf(analyst),
  ])
  for (const line of formatTable(HEADINGS, rows)) print(line)
  return 0
}

const stateOf = ({ revokedAt }: Analyst): string =>
  revokedAt === null ? 'valid' : `revoked ${revokedAt.toISOString()}`

async function add(args: readonly string[], deps: CommandDeps, print: Print): Promise<number> {
  const { pool, installation } = deps
  const { company: companyName, name } = parseNames(args)
  const company = await companyNamed(pool, companyName)
  const address = installation.analystAddress()
  if (address === undefined)
    throw new DomainError(
      'conflict',
      'ClickHouse is a server here, with users of its own: npm run analysts -- sql prints the statements that make one',
    )
  if ((await analystRepository(pool).findByName(name))?.revokedAt === null) throw analystNameTaken(name)
  // The views are made before the analyst, so that everyone who can sign in finds them.
  await makeViews(deps, await enterCompany(pool, company, EMBEDDED_COMPANIES_MAX))
  const password = await addAnalyst(pool, company, name)
  await deps.purges.purge(NAMES.analysts)
  print(`added ${name}, who sees ${JSON.stringify(company.name)}; the password is shown this once:`)
  print('')
  for (const line of connectionBlocks({ company: company.name, user: name, password, address })) print(line)
  return 0
}

async function revoke(args: readonly string[], { pool, purges }: CommandDeps, print: Print): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true })
  const [name] = positionals
  if (name === undefined || positionals.length > 1)
    throw new UsageError('revoke takes one name, as list shows it')
  const analyst = await analystRepository(pool).findByName(name)
  if (analyst === undefined)
    throw new DomainError('not_found', `there is no analyst ${JSON.stringify(name)}; list shows them`)
  if (analyst.revokedAt === null) await endAnalyst(pool, analyst)
  await purges.purge(NAMES.analysts)
  if (analyst.revokedAt === null)
    print(`revoked ${name}, whose queries end and who is refused within five seconds`)
  else print(`${name} was revoked already, ${analyst.revokedAt.toISOString()}`)
  return 0
}

async function endAnalyst(pool: CommandDeps['pool'], { id, name, company }: Analyst): Promise<void> {
  const { namespaceId } = await companyNamed(pool, company.name)
  await inNamespace(pool, namespaceId, async (db) => {
    if (!(await analystRepository(db).revoke(id))) return // by another command, which recorded it
    await auditTrailRepository(db).insert({
      companyId: company.id,
      keyId: null,
      action: 'analyst.revoked',
      resourceId: id,
      changes: { name },
    })
  })
}

async function sql(args: readonly string[], deps: CommandDeps, print: Print): Promise<number> {
  const { pool, installation } = deps
  const hasWorkspace = args.includes(WORKSPACE)
  const { company: companyName, name } = parseNames(args.filter((arg) => arg !== WORKSPACE))
  const company = await companyNamed(pool, companyName)
  const url = installation.urls['CLICKHOUSE_URL']
  if (url === undefined)
    throw new DomainError('conflict', 'ClickHouse is embedded here: npm run analysts -- add makes a user')
  const views = await makeViews(deps, await enterCompany(pool, company, NUMBERS_MAX))
  const password = newAnalystPassword()
  for (const line of commentsOn(company, name, password)) print(`-- ${line}`)
  const of = {
    ...views,
    service: decodeURIComponent(new URL(url).username) || 'default',
    user: name,
    password,
    hasWorkspace,
  }
  for (const { why, sql: statement } of serverStatements(of))
    print(`\n-- not tried on a server: ${why}\n${statement};`)
  return 0
}

const commentsOn = (company: Company, name: string, password: string): string[] => [
  `The user ${name} of a ClickHouse server, who sees ${JSON.stringify(company.name)}. Its database and its views are made.`,
  `The password is shown this once: ${password}`,
  'An administrator of the server runs these statements, for example with clickhouse-client --multiquery.',
  'Tally has not run them. To end the user: DROP USER.',
]

/** Makes the views of a company. @returns what they are, and which tables they read */
async function makeViews({ pool, openClickHouse, installation }: CommandDeps, of: AnalystDatabase) {
  const { database } = installation
  const clickhouse = await openClickHouse()
  await makeCompanyViews({ pool, clickhouse, database }, of)
  const into = companyDatabase(database, of.number)
  const made = await queryRows<{ name: string; text: string }>(
    clickhouse,
    'SELECT name, as_select AS text FROM system.tables WHERE database = {into:String} ORDER BY name',
    { into },
  )
  const read = made.flatMap(({ text }) => [...text.matchAll(new RegExp(`\\b${database}\\.(\\w+)`, 'g'))])
  return {
    database,
    tables: [...new Set(read.map(([, table = '']) => table))].sort(),
    companyDatabase: into,
    views: made.map(({ name }) => name),
  }
}

function parseNames(args: readonly string[]): { company: string; name: string } {
  const { values } = parseArgs({
    args: [...args],
    options: { company: { type: 'string', default: 'default' }, name: { type: 'string' } },
  })
  return { company: values.company, name: requireAnalystName(values.name) }
}
