import { parseArgs } from 'node:util'
import { EnvReader } from '../../shared/config/env-reader.ts'
import { typedPath } from '../../shared/config/typed-path.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { UsageError } from '../../shared/errors/usage-error.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { expectLostOutput } from '../../shared/lifecycle/lost-output.ts'
import { createLogger } from '../../shared/logging/logger.ts'
import { readStandaloneConfig } from './config.ts'
import { restoreBackup } from './restore.ts'
import { stoppingSignal } from './stopping-signal.ts'

const HELP = `npm run restore: restores a backup of npm run backup

usage: npm run restore -- DIR [--into OTHER] [--keep-postgres] [--accept-gap]

It restores into DATA_DIR, which must be empty, and loads again what the event log has since the backup of ClickHouse
began. Then npm start serves. Usage that was accepted later than the backup of PostgreSQL is lost, unless the event log
is on Kafka.

  --into OTHER      restores into another folder, for example beside a running Tally, to try the backup
  --keep-postgres   restores only ClickHouse, and loads from the event log of the PostgreSQL in DATA_DIR
  --accept-gap      goes on although the event log does not reach back to the backup; says what is lost

Exit codes: 0 success, 1 nothing was restored, 2 the arguments are not valid.`

/** `npm run restore -- DIR`: restores a backup of `npm start` into an empty data folder. */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      into: { type: 'string' },
      'keep-postgres': { type: 'boolean', default: false },
      'accept-gap': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return
  }
  const [from, ...more] = positionals
  if (from === undefined || more.length > 0)
    throw new UsageError('npm run restore takes the folder of a backup')
  const read = new EnvReader(process.env)
  const config = readStandaloneConfig(read)
  read.done()
  const shared = config.eventLog.kafka === undefined ? 'DATABASE_URL' : 'KAFKA_BROKERS'
  if (values.into !== undefined && (config.eventLog.kafka ?? config.postgres.server) !== undefined)
    throw new StartupError(
      `with ${shared}, --into would set back the loaders of the Tally that runs: restore into DATA_DIR, once that Tally is gone`,
    )
  const dataDir = values.into === undefined ? config.dataDir : typedPath(values.into, process.env)
  const log = createLogger(config.logLevel)
  expectLostOutput()
  await restoreBackup(
    typedPath(from, process.env),
    { ...config, dataDir },
    {
      keepsPostgres: values['keep-postgres'],
      acceptsGaps: values['accept-gap'],
      print: (line) => process.stdout.write(`${line}\n`),
      signal: stoppingSignal(log),
    },
    log,
  )
  process.stdout.write(`restored into ${dataDir}: run npm start with this DATA_DIR, then doctor and audit\n`)
}

exitWith(main)
