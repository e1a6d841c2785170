import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../shared/postgres/embedded/embedded-postgres.ts'
import { testLog } from './log.ts'
import { makeTempFolder } from './temp-folder.ts'
import { until } from './until.ts'

/** A PostgreSQL server that one test file may kill. */
export interface OwnPostgres {
  server: EmbeddedPostgres
  port(): number
  /** Kills the postmaster with kill -9; its other processes then end. */
  kill9(): Promise<void>
  /** Starts the server again after kill9, on the same data and another port. */
  restart(): Promise<void>
  /** Ends the server and deletes its data. */
  stop(): Promise<void>
}

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const dataFolder = await makeTempFolder('own-postgres')
  const start = () => startEmbeddedPostgres({ dataFolder, log: testLog, onUnexpectedExit: () => undefined })
  const own: OwnPostgres = {
    server: await start(),
    port: () => Number(new URL(own.server.superuserUrl).port),
    async kill9() {
      const pidFile = await readFile(path.join(dataFolder, 'postgres/postmaster.pid'), 'utf8')
      process.kill(Number(pidFile.split('\n')[0]), 'SIGKILL')
    },
    async restart() {
      // Until all its processes have ended, the next server cannot get the shared memory.
      own.server = await until(() => start().catch(() => false as const), 20_000)
    },
    async stop() {
      await own.server.close()
      await rm(dataFolder, { recursive: true, force: true })
    },
  }
  return own
}
