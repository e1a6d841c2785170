import { stopClickHouse } from './clickhouse.ts'
import { stopLeftBrokers } from './kafka.ts'
import { stopPostgres } from './postgres.ts'
import { stopSharedApi } from './start-api.ts'
import { stopLeftTallies } from './start-tally.ts'
import { stopSharedTally } from './tally-under-test.ts'

let failed = false

/** Ends the engines that tests share. */
export const mochaHooks = {
  afterEach(this: Mocha.Context): void {
    if (this.currentTest?.state === 'failed') failed = true
  },
  async afterAll(): Promise<void> {
    await stopSharedTally()
    await stopSharedApi()
    await stopLeftTallies()
    await stopLeftBrokers()
    await stopPostgres(failed)
    await stopClickHouse(failed)
  },
}
