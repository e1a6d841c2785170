import path from 'node:path'
import { parseArgs } from 'node:util'
import { EnvReader } from '../../shared/config/env-reader.ts'
import { explainFullDisk } from '../../shared/errors/disk-full.ts'
import { UsageError } from '../../shared/errors/usage-error.ts'
import { type Closeable, closeAll } from '../../shared/lifecycle/close-all.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { expectLostOutput } from '../../shared/lifecycle/lost-output.ts'
import { createLogger } from '../../shared/logging/logger.ts'
import { MICROS_PER_MS } from '../../shared/time/microsecond-clock.ts'
import { readStandaloneConfig } from './config.ts'
import { openDataFolder } from './data-folder.ts'
import { openEngines } from './engines.ts'
import { recover } from './recover.ts'
import { stoppingSignal } from './stopping-signal.ts'

const HELP = `npm run recover: loads usage again that ClickHouse has lost

usage: npm run recover -- --from TIME [--accept-gap]

It gives all rollups up, sets the loaders back to what they had loaded at TIME, and loads the event log again. Events
that ClickHouse has still count once. End all loaders before, and, unless wrong answers do not matter meanwhile, all
other services but the gateways. If it is interrupted, loaders go on from there. npm run restore does all this itself.

  --from TIME    when the backup of ClickHouse began that was restored, such as 2026-01-31T12:00:00Z
  --accept-gap   goes on although the event log does not reach back to TIME; says what is lost

Exit codes: 0 success, 1 nothing was changed, or it was interrupted, 2 the arguments are not valid.`

/** A time with its zone, also as psql prints it. Without one it would be of this machine's zone, and perhaps too late. */
const ZONED = /:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)$/i

/** `npm run recover`: after ClickHouse was restored, brings it up to what was accepted. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      from: { type: 'string' },
      'accept-gap': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return
  }
  const from = ZONED.test(values.from ?? '') ? Date.parse(values.from ?? '') : Number.NaN
  if (Number.isNaN(from)) throw new UsageError('--from must be a time such as 2026-01-31T12:00:00Z')
  if (from > Date.now()) throw new UsageError('--from must be a time in the past')
  const read = new EnvReader(process.env)
  const config = readStandaloneConfig(read)
  read.done()
  const log = createLogger(config.logLevel)
  expectLostOutput()
  const signal = stoppingSignal(log)
  const print = (line: string) => process.stdout.write(`${line}\n`)
  const opened: Closeable[] = []
  try {
    const folder = await openDataFolder(config.dataDir)
    opened.push(folder)
    const engines = await openEngines(config, folder, opened, log, (reason) => {
      log.fatal(reason)
    })
    const options = { before: from * MICROS_PER_MS, acceptsGaps: values['accept-gap'], print, signal }
    await recover({ config, engines, opened, log }, options)
    print('all usage is loaded: start everything. Answers are slow until rollups are built')
  } catch (err) {
    throw explainFullDisk(err, path.resolve(config.dataDir))
  } finally {
    await closeAll(opened, log)
  }
}

exitWith(main)
