import type { AnalystLimits } from '../../services/analysts/analyst-limits.ts'
import { analystMetrics } from '../../services/analysts/analyst-metrics.ts'
import { scopeOfAll } from '../../services/analysts/analyst-scope.ts'
import { type Analysts, openAnalysts } from '../../services/analysts/analysts.ts'
import { type EndpointUsers, fixedUsers } from '../../services/analysts/endpoint-user.ts'
import { clickHouseHttp } from '../../services/analysts/http-endpoint.ts'
import type { OpenedClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { listen } from '../../shared/http/http-server.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { type Metrics, openMetrics } from '../../shared/metrics/metrics.ts'
import { openRateLimits } from '../../shared/rate-limit/rate-limits.ts'
import { testLog } from './log.ts'

const MB = 1_024 * 1_024

export const USER = 'analyst'
export const PASSWORD = 'a password of analysts'
export const AUTHORIZATION = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`

/** The number of wrong passwords in a minute from this machine, after which answers have Retry-After. */
export const WRONG_PASSWORDS_MAX = 100

/** Limits that no test reaches unless it sets lower ones. */
export const LIMITS: AnalystLimits = {
  timeoutS: 10,
  memoryBytes: 512 * MB,
  threads: 1,
  resultRows: 100_000,
  resultBytes: 32 * MB,
  readRows: 1e9,
  temporaryBytes: 256 * MB,
}

/** An answer of the endpoint. */
export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The value of X-ClickHouse-Exception-Code; undefined after a success. */
  code: number | undefined
}

/** The analysts' endpoint with the database of a test. */
export interface AnalystEndpoint {
  url: string
  /** The analysts' database. */
  database: string
  /** Sends a query with the password; the query is in the body. */
  ask(query: string, url?: Record<string, string>, headers?: Record<string, string>): Promise<Answer>
  close(): Promise<void>
}

/** What a test may have otherwise. */
export interface AnalystsOfTest {
  log?: Logger
  metrics?: Metrics
  connections?: number
  waitingMaxOfOne?: number
  limits?: Partial<AnalystLimits>
  /** Who may sign in beside the analyst of all companies. */
  others?: (analysts: Analysts) => EndpointUsers
}

export async function startAnalysts(
  clickhouse: OpenedClickHouse,
  {
    log = testLog,
    metrics = openMetrics(),
    connections = 2,
    waitingMaxOfOne = 100,
    limits = {},
    others,
  }: AnalystsOfTest = {},
): Promise<AnalystEndpoint> {
  const { engine, database } = clickhouse
  if (engine === undefined) throw new Error('not embedded')
  const analysts = await openAnalysts({
    engine,
    database,
    connections,
    waitingMax: 500,
    waitingMaxOfOne,
    limits: { ...LIMITS, ...limits },
  })
  const ofAll = { ...analysts.userOf({ name: USER, scope: scopeOfAll(database) }), password: PASSWORD }
  const facts = { version: '26.7.2.1', timeZone: 'UTC' }
  const endpoint = clickHouseHttp({
    users: fixedUsers([ofAll], others?.(analysts)),
    facts,
    log,
    metrics: analystMetrics(metrics, analysts.waiting),
    limits: openRateLimits({
      eventsPerS: 1,
      requestsPerS: 1,
      accountRequestsPerS: 1,
      wrongKeysPerMin: WRONG_PASSWORDS_MAX,
      trustedProxies: [],
    }),
  })
  const server = await listen(endpoint, {
    name: 'analysts of a test',
    host: '127.0.0.1',
    port: 0,
    portSetting: '',
    closeTimeoutMs: 1_000,
    headerBytesMax: MB,
  })
  const url = `http://127.0.0.1:${server.port}`
  return {
    url,
    database: `${database}_analytics`,
    ask: (query, params = {}, headers = {}) =>
      askAt(url, query, params, { authorization: AUTHORIZATION, ...headers }),
    async close() {
      await server.close()
      await analysts.close()
    },
  }
}

export async function askAt(
  url: string,
  query: string,
  params: Record<string, string>,
  headers: Record<string, string>,
): Promise<Answer> {
  const response = await fetch(`${url}/?${new URLSearchParams(params).toString()}`, {
    method: 'POST',
    body: query,
    headers,
  })
  const code = response.headers.get('x-clickhouse-exception-code')
  return {
    status: response.status,
    headers: response.headers,
    text: await response.text(),
    code: code === null ? undefined : Number(code),
  }
}
