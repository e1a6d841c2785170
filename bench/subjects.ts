import { rm } from 'node:fs/promises'
import path from 'node:path'
import { startBroker, stopLeftBrokers } from '../test/support/kafka.ts'
import { stopPostgres } from '../test/support/postgres.ts'
import { startServices, startSharedEngines } from '../test/support/start-services.ts'
import { startTally } from '../test/support/start-tally.ts'
import { cpuSecondsOf } from './cpu-time.ts'

/** A Tally whose rate of reports is measured. */
export interface Subject {
  /** Its name in the table, which says where the event log is. */
  name: string
  /** The URL for reports. */
  url: string
  /** The URL for reads. */
  apiUrl: string
  key: string
  /** The process that accepts reports. */
  pid: number
  /** CPU seconds used so far by the process with the event log. */
  logCpuSeconds(): Promise<number>
  /** Starts the loader, unless it runs already. */
  startLoading(): Promise<void>
  stop(): Promise<void>
}

const QUIET = { LOG_LEVEL: 'error' }

/**
 * `npm start`: gateway, loader and API in one process, with the log in its own PostgreSQL. Events are loaded while they
 * are reported.
 */
export async function embeddedSubject(): Promise<Subject> {
  const tally = await startTally({ env: QUIET })
  const pid = tally.process.pid ?? 0
  return {
    name: 'Tally',
    url: tally.url,
    apiUrl: tally.url,
    key: tally.key,
    pid,
    logCpuSeconds: async () => (await cpuSecondsOf(pid)).children,
    startLoading: () => Promise.resolve(),
    async stop() {
      await tally.stop()
      await rm(path.dirname(tally.dataFolder), { recursive: true, force: true })
    },
  }
}

/**
 * A gateway in a separate process, with the log on a Kafka of one broker on this machine. The loader starts after all
 * reports, because under such a load it would run on another machine.
 *
 * @throws Error when Java or Maven is missing
 */
export async function kafkaSubject(): Promise<Subject> {
  const broker = await startBroker()
  const engines = await startSharedEngines('bench', broker.brokers)
  const services = await startServices(engines, { ...QUIET, RATE_LIMIT_EVENTS_PER_S: '1000000000' })
  const { gateway, loader, api, key } = services
  await loader.stop()
  return {
    name: 'Tally, Kafka',
    url: gateway.url,
    apiUrl: api.url,
    key,
    pid: gateway.process.pid ?? 0,
    logCpuSeconds: async () => (await cpuSecondsOf(broker.pid())).self,
    startLoading: () => loader.restart(),
    async stop() {
      await services.stop()
      await engines.close()
      await stopPostgres()
      await stopLeftBrokers()
    },
  }
}
