import { parseArgs } from 'node:util'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { auditTrailRepository } from '../../../shared/postgres/audit-trail.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { formatTable } from '../../../shared/text/format-table.ts'
import type { Command } from '../command.ts'
import { companyNamed } from '../find-company.ts'

const LIMIT = '50'
const LIMIT_MAX = 10_000
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** npm run trail: shows the changes in a company, and who made them. */
export const trail: Command = {
  name: 'trail',
  about: 'shows who created and changed what in a company',
  notes: [
    'An entry for each request that created or changed something, newest first: when, by which key (or by an operator), what,',
    'and the requested change. Reported usage and the work of Tally itself have no entries. Entries are never changed.',
    '',
    '  --company NAME     default unless given; npm run companies -- list names them',
    '  --resource ID      only of this resource: an account, a grant, a key …',
    '  --key KEY-ID       only by this key; npm run keys -- list names them',
    `  --limit N          at most this many entries, ${LIMIT} unless given`,
    '',
  ],
  usage: ['trail', 'trail -- [--company NAME] [--resource ID] [--key KEY-ID] [--limit N]'],
  async run(args, { pool }, { print }) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        company: { type: 'string', default: 'default' },
        resource: { type: 'string' },
        key: { type: 'string' },
        limit: { type: 'string', default: LIMIT },
      },
    })
    const { resource: resourceId, key: keyId } = values
    if (keyId !== undefined && !UUID.test(keyId)) throw new UsageError('--key must be the id of a key')
    const limit = parseLimit(values.limit)
    const { id, namespaceId } = await companyNamed(pool, values.company)
    const { items, hasMore } = await inNamespace(pool, namespaceId, (db) =>
      auditTrailRepository(db).list(id, { resourceId, keyId }, { limit }),
    )
    const rows = items.map((entry) => [
      entry.createdAt.toISOString(),
      entry.keyId ?? 'operator',
      entry.action,
      entry.resourceId,
      JSON.stringify(entry.changes),
    ])
    for (const line of formatTable(['at', 'by', 'did', 'to', 'asked for'], rows)) print(line)
    if (hasMore) print(`there are more; --limit ${Math.min(limit * 10, LIMIT_MAX)} shows more`)
    return 0
  },
}

function parseLimit(text: string): number {
  const limit = Number(text)
  if (/^\d+$/.test(text) && limit >= 1 && limit <= LIMIT_MAX) return limit
  throw new UsageError(`--limit must be a whole number from 1 to ${LIMIT_MAX}`)
}
