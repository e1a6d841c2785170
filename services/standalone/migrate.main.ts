import path from 'node:path'
import { explainFullDisk } from '../../shared/errors/disk-full.ts'
import { type Closeable, closeAll } from '../../shared/lifecycle/close-all.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { expectLostOutput } from '../../shared/lifecycle/lost-output.ts'
import { readSettings } from '../../shared/lifecycle/read-settings.ts'
import { createLogger } from '../../shared/logging/logger.ts'
import { readStandaloneConfig } from './config.ts'
import { openDataFolder } from './data-folder.ts'
import { openEngines } from './engines.ts'

const CONTRACT = '--contract'

/** `npm run migrate`: brings the databases and the topics up to date, as every start does, then ends. */
async function main(): Promise<void> {
  const args = process.argv.slice(2)
  const config = readSettings(
    args.filter((arg) => arg !== CONTRACT),
    {
      command: `npm run migrate [-- ${CONTRACT}]`,
      about: `Brings the databases up to date, makes the topics if Kafka is set, and ends. Every npm start does the same first. Tally must not be running in the same folder. On servers, ${CONTRACT} also removes what only the version before uses: end its processes first.`,
      readConfig: readStandaloneConfig,
    },
  )
  if (config === undefined) return
  const log = createLogger(config.logLevel)
  expectLostOutput() // the databases are closed in order even when nobody reads the output
  const opened: Closeable[] = []
  try {
    const folder = await openDataFolder(config.dataDir)
    opened.push(folder)
    const onUnexpectedExit = (reason: string) => {
      log.fatal(reason)
    }
    await openEngines(config, folder, opened, log, onUnexpectedExit, args.includes(CONTRACT))
    const where =
      config.eventLog.kafka === undefined ? 'PostgreSQL and ClickHouse' : 'PostgreSQL, ClickHouse and Kafka'
    process.stdout.write(`${where} are up to date\n`)
  } catch (err) {
    throw explainFullDisk(err, path.resolve(config.dataDir))
  } finally {
    await closeAll(opened, log)
  }
}

exitWith(main)
