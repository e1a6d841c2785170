import { parseArgs } from 'node:util'
import { characterCount } from '../../../shared/domain/character-count.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { makeCompany } from '../../../shared/postgres/make-company.ts'
import { formatTable } from '../../../shared/text/format-table.ts'
import type { Command } from '../command.ts'
import { unknownAction } from '../unknown-action.ts'

const NAME_CHARACTERS_MAX = 256

/** npm run companies: makes and lists the companies of this installation. */
export const companies: Command = {
  name: 'companies',
  about: 'makes companies and lists them',
  notes: [
    'A company has accounts, metrics, usage and keys of its own. The first start makes two: default (live) and sandbox',
    '(test). The list shows the namespace by which analysts distinguish companies in SQL (namespace_id).',
    '',
    '  --name NAME         the name of the company; each name can be used once',
    '  --mode live|test    live unless given; keys of test companies begin with tally_test_, and npm run simulate uses such a key',
    '',
  ],
  usage: ['companies -- list', 'companies -- create --name NAME [--mode live|test]'],
  async run(args, { pool }, { print }) {
    const [action = '', ...rest] = args
    switch (action) {
      case 'list': {
        const rows = (await companyRepository(pool).list()).map(
          ({ id, name, mode, namespaceId, createdAt }) => [
            id,
            name,
            mode,
            namespaceId,
            createdAt.toISOString(),
          ],
        )
        for (const line of formatTable(['company', 'name', 'mode', 'namespace', 'created'], rows)) print(line)
        return 0
      }
      case 'create': {
        const { name, mode } = parseCreate(rest)
        const id = await makeCompany(pool, { name, mode })
        print(`made the ${mode} company ${JSON.stringify(name)}, id ${id}`)
        print(`issue a key for it: npm run keys -- issue --company ${JSON.stringify(name)}`)
        return 0
      }
      default:
        throw unknownAction('companies', ['list', 'create'], action)
    }
  },
}

function parseCreate(args: readonly string[]): { name: string; mode: 'live' | 'test' } {
  const { values } = parseArgs({
    args: [...args],
    options: { name: { type: 'string' }, mode: { type: 'string', default: 'live' } },
  })
  const { name, mode } = values
  if (name === undefined) throw new UsageError('--name is required')
  if (name === '' || characterCount(name) > NAME_CHARACTERS_MAX)
    throw new UsageError(`--name must have 1 to ${NAME_CHARACTERS_MAX} characters`)
  if (mode !== 'live' && mode !== 'test') throw new UsageError('--mode must be live or test')
  return { name, mode }
}
