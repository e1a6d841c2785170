import { parseArgs } from 'node:util'
import { digestOfApiKey, newApiKey, PERMISSIONS, type Permission } from '../../../shared/domain/api-key.ts'
import { newUuid } from '../../../shared/domain/ids.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { apiKeyRepository, type ApiKey } from '../../../shared/postgres/api-keys.ts'
import { companyRepository, type Company } from '../../../shared/postgres/companies.ts'
import type { Pool } from '../../../shared/postgres/pool.ts'
import { NAMES } from '../../../shared/redis/names.ts'
import { formatTable } from '../../../shared/text/format-table.ts'
import type { Command, CommandDeps } from '../command.ts'
import { unknownAction } from '../unknown-action.ts'

const DEFAULT_PERMISSIONS = 'read:all,write:all'

/** npm run keys: API keys of a company. */
export const keys: Command = {
  name: 'keys',
  about: 'issues, lists and revokes API keys',
  notes: [
    'A key is sent in the header x-api-key. It is shown once, when it is issued; Tally keeps only its digest. To replace one,',
    'issue another, give it to whoever uses the old one, and revoke the old one; the list shows their ids. The keys in',
    'DATA_DIR/api-key and test-api-key are called "first key".',
    '',
    '  --company NAME        default unless given; npm run companies -- list names them',
    '  --name NAME           what to call the key in the list',
    `  --permissions LIST    of ${PERMISSIONS.join(', ')}; ${DEFAULT_PERMISSIONS} unless given`,
    '  --expires-at TIME     when it ends by itself, such as 2030-01-01T00:00:00Z; never unless given',
    '  --quiet               print the key alone: npm run --silent keys -- issue --quiet > FILE',
    '',
  ],
  usage: [
    'keys -- list [--company NAME]',
    'keys -- issue [--company NAME] [--name NAME] [--permissions LIST] [--expires-at TIME] [--quiet]',
    'keys -- revoke KEY-ID',
  ],
  async run(args, { pool, purges }, { print }) {
    const [action = '', ...rest] = args
    switch (action) {
      case 'list':
        return list(rest, pool, print)
      case 'issue':
        return issue(rest, pool, print)
      case 'revoke':
        return revoke(rest, pool, purges, print)
      default:
        throw unknownAction('keys', ['list', 'issue', 'revoke'], action)
    }
  },
}

async function list(args: readonly string[], pool: Pool, print: (line: string) => void): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { company: { type: 'string', default: 'default' } },
  })
  const company = await findCompany(pool, values.company)
  const found = await apiKeyRepository(pool).list(company.id)
  const rows = found.map((key) => [
    key.id,
    key.name,
    `…${key.lastCharacters}`,
    key.permissions.join(','),
    key.createdAt.toISOString(),
    stateOf(key),
  ])
  for (const line of formatTable(['key', 'name', 'ends in', 'permissions', 'created', 'state'], rows))
    print(line)
  return 0
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt !== null) return `revoked ${revokedAt.toISOString()}`
  if (expiresAt === null) return 'valid'
  return `${expiresAt <= new Date() ? 'expired' : 'valid until'} ${expiresAt.toISOString()}`
}

async function issue(args: readonly string[], pool: Pool, print: (line: string) => void): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      company: { type: 'string', default: 'default' },
      name: { type: 'string', default: 'issued by command' },
      permissions: { type: 'string', default: DEFAULT_PERMISSIONS },
      'expires-at': { type: 'string' },
      quiet: { type: 'boolean', default: false },
    },
  })
  const permissions = values.permissions.split(',').map(parsePermission)
  const expiresAt = parseExpiry(values['expires-at'])
  const company = await findCompany(pool, values.company)
  const key = newApiKey(company.mode)
  const id = newUuid()
  await apiKeyRepository(pool).insert({
    id,
    companyId: company.id,
    name: values.name,
    digest: digestOfApiKey(key),
    lastCharacters: key.slice(-4),
    permissions,
    expiresAt,
  })
  if (!values.quiet)
    print(
      `key ${id} of ${JSON.stringify(company.name)} with ${permissions.join(', ')}; it is shown this once:`,
    )
  print(key)
  return 0
}

async function revoke(
  args: readonly string[],
  pool: Pool,
  purges: CommandDeps['purges'],
  print: (line: string) => void,
): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true })
  const [id] = positionals
  if (id === undefined || positionals.length > 1)
    throw new UsageError('revoke takes one key id, as list shows it')
  const revoked = /^[0-9a-f-]{36}$/.test(id) ? await apiKeyRepository(pool).revoke(id) : undefined
  if (revoked === undefined) throw new DomainError('not_found', `there is no key ${id}`)
  const { before, digest } = revoked
  await purges.purge(NAMES.caller(digest))
  if (before === null) print(`revoked ${id}; it stops working everywhere within five seconds`)
  else print(`${id} was revoked already, ${before.toISOString()}`)
  return 0
}

async function findCompany(pool: Pool, name: string): Promise<Company> {
  const company = await companyRepository(pool).findByName(name)
  if (company === undefined) throw new DomainError('not_found', `there is no company ${JSON.stringify(name)}`)
  return company
}

function parsePermission(text: string): Permission {
  const permission = PERMISSIONS.find((known) => known === text)
  if (permission === undefined)
    throw new UsageError(`${JSON.stringify(text)} is no permission; there are ${PERMISSIONS.join(', ')}`)
  return permission
}

function parseExpiry(text: string | undefined): Date | null {
  if (text === undefined) return null
  const at = new Date(text)
  if (Number.isNaN(at.getTime()) || at <= new Date())
    throw new UsageError('--expires-at must be a time to come, such as 2030-01-01T00:00:00Z')
  return at
}
