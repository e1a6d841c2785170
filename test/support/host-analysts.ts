import type { AnalystLimits } from '../../services/analysts/analyst-limits.ts'
import { analystMetrics } from '../../services/analysts/analyst-metrics.ts'
import { scopeOfAll } from '../../services/analysts/analyst-scope.ts'
import { openAnalysts, USER_OF_ALL } from '../../services/analysts/analysts.ts'
import { fixedUsers } from '../../services/analysts/endpoint-user.ts'
import { clickHouseHttp } from '../../services/analysts/http-endpoint.ts'
import { openClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { migrateClickHouse } from '../../shared/clickhouse/migrate.ts'
import { listen } from '../../shared/http/http-server.ts'
import { openMetrics } from '../../shared/metrics/metrics.ts'
import { openRateLimits } from '../../shared/rate-limit/rate-limits.ts'
import { testLog } from './log.ts'
import { openTrial } from './trial.ts'

const MB = 1_024 * 1_024

/** Options by which tests change `host-analysts`. */
export interface HostOptions {
  folder: string
  limits?: Partial<AnalystLimits>
  connections?: number
  waitingMax?: number
  /** How long a client may take nothing while others wait. */
  stalledMs?: number
  /** More analysts, each by name with a company of that name; they see all, and have the password of the first one. */
  names?: readonly string[]
  /** Leaves the migrations to the test. */
  bare?: boolean
}

const options = JSON.parse(process.argv[2] ?? '') as HostOptions

/** A process that serves analysts and trials on its own data folder: `node host-analysts.js '{"folder":"…"}'`. */
const opened = await openClickHouse({
  folder: options.folder,
  database: 'tally',
  connections: 3,
  queryTimeoutS: 60,
})
if (options.bare !== true) await migrateClickHouse(opened, testLog)
const { engine } = opened
if (engine === undefined) throw new Error('not embedded')
const trial = await openTrial({
  engine,
  database: 'tally',
  password: 'a secret of trials',
  connections: 3,
  bodyBytesMax: 64 * MB,
})
const analysts =
  options.bare === true
    ? undefined
    : await openAnalysts({
        engine,
        database: 'tally',
        connections: options.connections ?? 3,
        waitingMax: options.waitingMax ?? 500,
        waitingMaxOfOne: options.waitingMax ?? 500,
        ...(options.stalledMs === undefined ? {} : { stalledMs: options.stalledMs }),
        limits: {
          timeoutS: 30,
          memoryBytes: 1_024 * MB,
          threads: 1,
          resultRows: 1_000_000,
          resultBytes: 128 * MB,
          readRows: 1e10,
          temporaryBytes: 1_024 * MB,
          ...options.limits,
        },
      })
const server = await listen(
  clickHouseHttp({
    users: fixedUsers(
      analysts === undefined
        ? [trial]
        : [
            {
              ...analysts.userOf({ name: USER_OF_ALL, scope: scopeOfAll('tally') }),
              password: 'a password of analysts',
            },
            ...(options.names ?? []).map((name) => ({
              ...analysts.userOf({ name, company: name, scope: scopeOfAll('tally') }),
              password: 'a password of analysts',
            })),
            trial,
          ],
    ),
    facts: { version: '26.7.2.1', timeZone: 'UTC' },
    log: testLog,
    metrics: analystMetrics(openMetrics(), () => 0),
    limits: openRateLimits({
      eventsPerS: 1,
      requestsPerS: 1,
      accountRequestsPerS: 1,
      wrongKeysPerMin: 100,
      trustedProxies: [],
    }),
  }),
  {
    name: 'the host of analysts',
    host: '127.0.0.1',
    port: 0,
    portSetting: '',
    closeTimeoutMs: 1_000,
    headerBytesMax: MB,
    connectionsMax: 1_024,
  },
)
process.stdout.write(`${server.port}\n`)
process.once('SIGTERM', () => {
  void (async () => {
    await server.close()
    await trial.close()
    await analysts?.close()
    await opened.close()
    process.exit(0)
  })()
})
