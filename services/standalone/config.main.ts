import { EnvReader } from '../../shared/config/env-reader.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { readStandaloneConfig } from './config.ts'
import { settingsTable } from './settings-table.ts'

/** `npm run config`: prints the settings in force, secrets hidden, and every problem they have. */
function main(): void {
  const read = new EnvReader(process.env)
  readStandaloneConfig(read)
  for (const line of settingsTable(read.settings)) process.stdout.write(`${line}\n`)
  read.done()
}

exitWith(main)
