import { CHECK_CONFIG, checkSettings } from '../../shared/config/check-settings.ts'
import { EnvReader } from '../../shared/config/env-reader.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { abortOnStop } from '../../shared/lifecycle/stop-signal.ts'
import { createLogger, type Logger } from '../../shared/logging/logger.ts'
import { askRunning } from './ask-running.ts'
import { COMMANDS } from './commands.ts'
import { readOperatorConfig } from './config.ts'
import { helpOf, wantsHelp } from './help-of.ts'
import { runAlone } from './run-command.ts'
import { runOnServers } from './run-on-servers.ts'

/** How long a command may take to end after a signal to stop. */
const STOP_MS = 5_000

/**
 * `node main.js COMMAND ARGS`: runs a maintenance command. When the databases are servers, the command runs in this
 * process. Otherwise it runs in the running Tally. What needs no engine of Tally always runs in this process.
 */
async function main(): Promise<void> {
  const [name = '', ...args] = process.argv.slice(2)
  const command = COMMANDS.find((one) => one.name === name)
  if (command !== undefined && wantsHelp(args)) {
    for (const line of helpOf(command)) process.stdout.write(`${line}\n`)
    return
  }
  const print = (line: string) => process.stdout.write(`${line}\n`)
  const read = new EnvReader(process.env)
  const config = readOperatorConfig(read)
  if (command !== undefined && args[0] === CHECK_CONFIG) {
    print(checkSettings(read, args.slice(1), `npm run ${name}`))
    return
  }
  const exitCode = await runAlone(name, args, process.env, print)
  if (exitCode !== undefined) {
    process.exitCode = exitCode
    return
  }
  read.done()
  const { servers, dataFolder } = config
  const log = createLogger(config.logLevel)
  const context = {
    print,
    showProgress: (line: string) => process.stderr.write(`${line}\n`),
  }
  process.exitCode =
    servers === undefined
      ? await askRunning(dataFolder, name, command?.wordsToSend?.(args, process.env) ?? args, context)
      : await runOnServers(servers, name, args, log, { ...context, signal: interruptSignal(log) })
}

/**
 * Makes a signal that Ctrl-C aborts. The running Tally needs no such signal, because it sees that the connection is
 * closed.
 */
const interruptSignal = (log: Logger): AbortSignal => abortOnStop(log, STOP_MS)

exitWith(main)
