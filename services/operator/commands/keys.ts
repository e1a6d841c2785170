import { parseArgs } from 'node:util'
import { newApiKey, type Permission, PERMISSIONS } from '../../../shared/domain/api-key.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { issueKey } from '../../../shared/keys/issue-key.ts'
import { revokeKey } from '../../../shared/keys/revoke-key.ts'
import { OVERLAP_S_MAX, rotateKey } from '../../../shared/keys/rotate-key.ts'
import { type ApiKey, apiKeyRepository } from '../../../shared/postgres/api-keys.ts'
import type { Company } from '../../../shared/postgres/companies.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { NAMES } from '../../../shared/redis/names.ts'
import { formatTable } from '../../../shared/text/format-table.ts'
import type { Command, CommandContext, CommandDeps } from '../command.ts'
import { companyNamed, companyOfKey } from '../find-company.ts'
import { unknownAction } from '../unknown-action.ts'

const DEFAULT_PERMISSIONS = 'read:all,write:all'
const PAGE = 1_000
const HEADINGS = ['key', 'name', 'ends in', 'permissions', 'created', 'last used', 'state']

type Print = CommandContext['print']

/** npm run keys: issues, lists, rotates and revokes API keys of a company. */
export const keys: Command = {
  name: 'keys',
  about: 'issues, lists, rotates and revokes API keys',
  notes: [
    'A key is sent in the header x-api-key. It is shown once, when it is issued, because Tally keeps only its digest. To',
    'replace a key, rotate it: the new key has the same name, permissions and end, and the old key works for --overlap-s. The',
    'list shows the ids of keys, and when they were last used, to the minute. The keys in DATA_DIR/api-key and test-api-key are',
    'called "first key".',
    '',
    '  --company NAME        default unless given; npm run companies -- list names them',
    '  --name NAME           what to call the key in the list',
    '  --name NAME           the name of the key in the list',
    `  --permissions LIST    of ${PERMISSIONS.join(', ')}; ${DEFAULT_PERMISSIONS} unless given. A rotated key can have only`,
    '                        permissions of the old key, and has all of them unless given',
    '  --expires-at TIME     when the key ends by itself, such as 2030-01-01T00:00:00Z, or never. Unless given, a new key never',
    '                        ends, and a rotated key ends with the old key',
    `  --overlap-s N         seconds that the old key still works, at most ${OVERLAP_S_MAX}; 0 ends it at once`,
    '  --quiet               print only the key: npm run --silent keys -- issue --quiet > FILE',
    '',
  ],
  usage: [
    'keys -- list [--company NAME]',
    'keys -- issue [--company NAME] [--name NAME] [--permissions LIST] [--expires-at TIME] [--quiet]',
    'keys -- rotate KEY-ID --overlap-s N [--permissions LIST] [--expires-at TIME] [--quiet]',
    'keys -- revoke KEY-ID',
  ],
  async run(args, { pool, purges }, { print }) {
    const [action = '', ...rest] = args
    switch (action) {
      case 'list':
        return list(rest, pool, print)
      case 'issue':
        return issue(rest, pool, print)
      case 'rotate':
        return rotate(rest, pool, purges, print)
      case 'revoke':
        return revoke(rest, pool, purges, print)
      default:
        throw unknownAction('keys', ['list', 'issue', 'rotate', 'revoke'], action)
    }
  },
}

async function list(args: readonly string[], pool: Pool, print: Print): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { company: { type: 'string', default: 'default' } },
  })
  const company = await companyNamed(pool, values.company)
  const rows: string[][] = []
  let startingAfter: string | undefined
  do {
    const page = await apiKeyRepository(pool).list(company.id, { limit: PAGE, startingAfter })
    rows.push(...page.items.map(cellsOf))
    startingAfter = page.hasMore ? page.items.at(-1)?.id : undefined
  } while (startingAfter !== undefined)
  for (const line of formatTable(HEADINGS, rows)) print(line)
  return 0
}

const cellsOf = (key: ApiKey): string[] => [
  key.id,
  key.name,
  `…${key.lastCharacters}`,
  key.permissions.join(','),
  key.createdAt.toISOString(),
  key.lastUsedAt?.toISOString() ?? 'never',
  stateOf(key),
]

function stateOf({ revokedAt, expiresAt, replacedBy }: ApiKey): string {
  const rotated = replacedBy === null ? '' : `, ${replacedBy} took its place`
  if (revokedAt !== null) return `revoked ${revokedAt.toISOString()}${rotated}`
  if (expiresAt === null) return 'valid'
  return `${expiresAt <= new Date() ? 'expired' : 'valid until'} ${expiresAt.toISOString()}${rotated}`
}

async function issue(args: readonly string[], pool: Pool, print: Print): Promise<number> {
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
  const permissions = parsePermissions(values.permissions)
  const expiresAt = parseExpiry(values['expires-at']) ?? null
  const company = await companyNamed(pool, values.company)
  const secret = newApiKey(company.mode)
  const terms = { permissions, accountId: null, expiresAt }
  const wanted = { companyId: company.id, name: values.name, secret, ...terms }
  const { id } = await inNamespace(pool, company.namespaceId, (db) => issueKey(db, null, wanted))
  if (!values.quiet) print(`key ${id} ${describe(company, permissions)}; it is shown this once:`)
  print(secret)
  return 0
}

const describe = (company: Company, permissions: readonly Permission[]): string =>
  `of ${JSON.stringify(company.name)} with ${permissions.join(', ')}`

async function rotate(
  args: readonly string[],
  pool: Pool,
  purges: CommandDeps['purges'],
  print: Print,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'overlap-s': { type: 'string' },
      permissions: { type: 'string' },
      'expires-at': { type: 'string' },
      quiet: { type: 'boolean', default: false },
    },
  })
  const keyId = oneId('rotate', positionals)
  const oldKeyEnd = { afterS: parseOverlap(values['overlap-s']) }
  const permissions = values.permissions === undefined ? undefined : parsePermissions(values.permissions)
  const expiresAt = parseExpiry(values['expires-at'])
  const company = await companyOfKey(pool, keyId)
  const { id: companyId, mode } = company
  const wanted = { companyId, keyId, mode, oldKeyEnd, permissions, expiresAt }
  const rotated = await inNamespace(pool, company.namespaceId, (db) => rotateKey(db, null, wanted))
  if (rotated === undefined) throw noKey(keyId)
  const { made, secret, old, oldDigest } = rotated
  await purges.purge(NAMES.caller(oldDigest))
  if (!values.quiet) {
    const end = old.expiresAt?.toISOString() ?? ''
    print(`the old key ends ${end}, and stops working everywhere within five seconds after that`)
    print(`key ${made.id} ${describe(company, made.permissions)}; it is shown this once:`)
  }
  print(secret)
  return 0
}

async function revoke(
  args: readonly string[],
  pool: Pool,
  purges: CommandDeps['purges'],
  print: Print,
): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true })
  const id = oneId('revoke', positionals)
  const company = await companyOfKey(pool, id)
  const revoked = await inNamespace(pool, company.namespaceId, (db) => revokeKey(db, null, company.id, id))
  if (revoked === undefined) throw noKey(id)
  const { key, wasRevoked } = revoked
  await purges.purge(NAMES.caller(key.digest))
  if (!wasRevoked) print(`revoked ${id}; it stops working everywhere within five seconds`)
  else print(`${id} was revoked already, ${key.revokedAt?.toISOString() ?? ''}`)
  return 0
}

function oneId(action: string, positionals: readonly string[]): string {
  const [id] = positionals
  if (id === undefined || positionals.length > 1)
    throw new UsageError(`${action} takes one key id, as list shows it`)
  return id
}

const noKey = (id: string): DomainError => new DomainError('not_found', `there is no key ${id}`)

const parsePermissions = (text: string): Permission[] => [...new Set(text.split(',').map(parsePermission))]

function parsePermission(text: string): Permission {
  const permission = PERMISSIONS.find((one) => one === text)
  if (permission === undefined)
    throw new UsageError(`${JSON.stringify(text)} is no permission; there are ${PERMISSIONS.join(', ')}`)
  return permission
}

/** @returns null for `never`, undefined when the option was not given */
function parseExpiry(text: string | undefined): Date | null | undefined {
  if (text === undefined) return undefined
  if (text === 'never') return null
  const at = new Date(text)
  if (Number.isNaN(at.getTime()) || at <= new Date())
    throw new UsageError('--expires-at must be in the future, such as 2030-01-01T00:00:00Z, or never')
  return at
}

function parseOverlap(text: string | undefined): number {
  if (text !== undefined && /^\d{1,9}$/.test(text) && Number(text) <= OVERLAP_S_MAX) return Number(text)
  throw new UsageError(
    `--overlap-s is required: whole seconds that the old key still works, 0 to ${OVERLAP_S_MAX}; 0 ends it at once`,
  )
}
