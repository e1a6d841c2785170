import { parseArgs } from 'node:util'
import { typedPath } from '../../../shared/config/typed-path.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { runExclusively } from '../../../shared/postgres/locks/run-exclusively.ts'
import { takeBackup } from '../backup/take-backup.ts'
import type { Command } from '../command.ts'

/** The time limit of a statement that counts the events of a month. */
const QUERY_TIMEOUT_S = 3_600

/** npm run backup: copies the data of a running npm start into a folder. */
export const backup: Command = {
  name: 'backup',
  about: 'writes a backup of a running npm start into a folder',
  notes: [
    'DIR is a new folder, or one with an earlier backup of the same Tally. The new backup replaces the earlier one when it is',
    'complete, and writes only those files of ClickHouse that changed. It has all data, passwords and keys: keep it as safe as',
    'the data folder. npm run restore -- DIR restores it. Databases that are servers have their own tools:',
    'docs/operations.md has the steps.',
    '',
  ],
  usage: ['backup -- DIR'],
  wordsToSend: (args, env) => args.map((word) => (word.startsWith('-') ? word : typedPath(word, env))),
  async run(args, { pool, openClickHouse, openEventLog, installation, embedded }, context) {
    const { positionals } = parseArgs({ args: [...args], allowPositionals: true })
    const [folder, ...more] = positionals
    if (folder === undefined || more.length > 0) throw new UsageError('backup takes one folder')
    const { dataFolder, database } = installation
    if (embedded === undefined || dataFolder === undefined)
      throw new DomainError(
        'unprocessable',
        'ClickHouse is a server: back it up, and then PostgreSQL, with their own tools, as docs/operations.md says',
      )
    const startedAt = performance.now()
    const { clickhouse, postgres } = await runExclusively(pool, 'backup', async () =>
      takeBackup(folder, {
        ...context,
        ...embedded,
        pool,
        clickhouse: await openClickHouse(QUERY_TIMEOUT_S),
        log: await openEventLog(),
        database,
        dataFolder,
      }),
    )
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    context.print(`${folder} is a backup from ${clickhouse.beganAt} on; it took ${seconds} s`)
    if (postgres === null) context.print('PostgreSQL is a server: back it up now, with its own tools')
    return 0
  },
}
