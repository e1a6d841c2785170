import { setTimeout as sleep } from 'node:timers/promises'
import { EnvReader } from '../../shared/config/env-reader.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { expectLostOutput } from '../../shared/lifecycle/lost-output.ts'
import { takeNoOptions } from '../../shared/lifecycle/no-options.ts'
import { stopSignal } from '../../shared/lifecycle/stop-signal.ts'
import { createLogger } from '../../shared/logging/logger.ts'
import { readStandaloneConfig } from './config.ts'
import { startTally } from './tally.ts'
import { welcome } from './welcome.ts'

const STOP_MS = 9_500

async function main(): Promise<void> {
  const help = takeNoOptions(
    process.argv.slice(2),
    'npm start',
    'Serves everything in one process, and migrates the databases first.',
  )
  if (help !== undefined) {
    process.stdout.write(`${help}\n`)
    return
  }
  const read = new EnvReader(process.env)
  const config = readStandaloneConfig(read)
  read.done()
  const log = createLogger(config.logLevel)
  // Set up before the start, so that Ctrl-C during the start also closes everything in order.
  const { shutdownDelayMs } = config.admin
  const stopped = stopSignal(log, STOP_MS, shutdownDelayMs)
  // Without an engine Tally can serve nothing, so it does not wait for those who still send requests.
  const engineLost = new AbortController()
  const onUnexpectedExit = (reason: string) => {
    log.fatal(reason)
    process.exitCode = 1
    engineLost.abort()
    process.kill(process.pid, 'SIGTERM')
  }
  expectLostOutput()
  const startedAt = performance.now()
  const tally = await startTally(config, log, onUnexpectedExit)
  const seconds = (performance.now() - startedAt) / 1_000
  process.stdout.write(`${welcome(tally, seconds).join('\n')}\n`)
  await stopped
  tally.drain()
  await sleep(shutdownDelayMs, undefined, { signal: engineLost.signal }).catch(() => undefined)
  await tally.close()
}

exitWith(main)
