import { startEmbeddedPostgres } from '../../../shared/postgres/embedded/embedded-postgres.ts'
import { testLog } from '../../support/log.ts'

/** A process that starts PostgreSQL in a folder and holds it until it is killed: `node hold-postgres.js FOLDER`. */
const server = await startEmbeddedPostgres({
  dataFolder: process.argv[2] ?? '',
  log: testLog,
  onUnexpectedExit: () => process.exit(1),
})
process.stdout.write(`${server.superuserUrl}\n`)
setInterval(() => undefined, 1_000)
