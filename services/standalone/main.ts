import { setTimeout as sleep } from 'node:timers/promises'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { expectLostOutput } from '../../shared/lifecycle/lost-output.ts'
import { readSettings } from '../../shared/lifecycle/read-settings.ts'
import { stopSignal } from '../../shared/lifecycle/stop-signal.ts'
import { createLogger } from '../../shared/logging/logger.ts'
import { readStandaloneConfig } from './config.ts'
import { startTally } from './tally.ts'
import { welcome } from './welcome.ts'

const STOP_MS = 9_500

async function main(): Promise<void> {
  const config = readSettings(process.argv.slice(2), {
    command: 'npm start',
    about: 'Serves everything in one process, and migrates the databases first.',
    readConfig: readStandaloneConfig,
  })
  if (config === undefined) return
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
