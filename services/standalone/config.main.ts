import { EnvReader } from '../../shared/config/env-reader.ts'
import { settingsTable } from '../../shared/config/settings-table.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { takeNoOptions } from '../../shared/lifecycle/no-options.ts'
import { readStandaloneConfig } from './config.ts'

/** `npm run config`: prints the settings of this environment, with secrets hidden, and every problem in them. */
function main(): void {
  const help = takeNoOptions(
    process.argv.slice(2),
    'npm run config',
    'Prints the settings of this environment, with secrets hidden; a star marks those that differ from their default. A running Tally may have been started with other settings.',
  )
  if (help !== undefined) {
    process.stdout.write(`${help}\n`)
    return
  }
  const read = new EnvReader(process.env)
  readStandaloneConfig(read)
  for (const line of settingsTable(read.settings)) process.stdout.write(`${line}\n`)
  read.done()
}

exitWith(main)
