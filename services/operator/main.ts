import { EnvReader } from '../../shared/config/env-reader.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { createLogger } from '../../shared/logging/logger.ts'
import { askRunning } from './ask-running.ts'
import { COMMANDS } from './commands.ts'
import { readOperatorConfig } from './config.ts'
import { helpOf, wantsHelp } from './help-of.ts'
import { runOnServers } from './run-on-servers.ts'

/** `node main.js COMMAND ARGS`: runs a maintenance command, here when the databases are servers, else in the running Tally. */
async function main(): Promise<void> {
  const [name = '', ...args] = process.argv.slice(2)
  const command = COMMANDS.find((known) => known.name === name)
  if (command !== undefined && wantsHelp(args)) {
    for (const line of helpOf(command)) process.stdout.write(`${line}\n`)
    return
  }
  const read = new EnvReader(process.env)
  const config = readOperatorConfig(read)
  read.done()
  const print = (line: string) => process.stdout.write(`${line}\n`)
  const { servers, dataFolder } = config
  process.exitCode =
    servers === undefined
      ? await askRunning(dataFolder, name, args, print)
      : await runOnServers(servers, name, args, createLogger(config.logLevel), print)
}

exitWith(main)
