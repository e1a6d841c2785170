import { randomUUID } from 'node:crypto'
import { type IncomingHttpHeaders, type IncomingMessage, request, type RequestListener } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { Acceptance } from '../../../services/gateway/acceptance.ts'
import { gatewayApp } from '../../../services/gateway/app.ts'
import { namedReferences } from '../../../services/gateway/cloud-events/named-references.ts'
import type { GatewayPoint } from '../../../services/gateway/crash-points.ts'
import { existingReferences } from '../../../services/gateway/existing-references.ts'
import { reportListener } from '../../../services/gateway/report-listener.ts'
import { reportUsage } from '../../../services/gateway/report-usage.ts'
import { requestKeysIn } from '../../../services/gateway/request-keys.ts'
import { seedNamespace } from '../../../services/gateway/seed/seed-namespace.ts'
import { newApiKey, type Permission } from '../../../shared/domain/api-key.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { openPostgresEventLog } from '../../../shared/event-log/postgres/postgres-event-log.ts'
import { cachedFindCaller } from '../../../shared/http/authentication.ts'
import { listen } from '../../../shared/http/http-server.ts'
import { lookUpCallers } from '../../../shared/http/open-access.ts'
import { accountRepository } from '../../../shared/postgres/accounts.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace, withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { metricRepository } from '../../../shared/postgres/metrics.ts'
import { referenceRepository } from '../../../shared/postgres/references.ts'
import { testWorlds } from '../../../shared/postgres/test-worlds.ts'
import { addressBehind } from '../../../shared/rate-limit/client-address.ts'
import type { RateLimit } from '../../../shared/rate-limit/rate-limit.ts'
import { risingClock } from '../../../shared/time/rising-clock.ts'
import { insertKey } from '../../support/insert-key.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase } from '../../support/postgres.ts'

/** Both databases have these names, so that answers and stored events can be equal. */
export const NAMES = {
  company: randomUUID(),
  namespace: randomUUID(),
  account: `account_${'a'.repeat(32)}`,
  metric: `metric_${'b'.repeat(32)}`,
  keys: { full: newApiKey('test'), reader: newApiKey('test'), limited: newApiKey('test') },
  keyIds: { full: randomUUID(), reader: randomUUID(), limited: randomUUID() },
}

export const BODY_BYTES_MAX = 64 * 1_024

export interface Sent {
  method?: string
  path: string
  headers: Record<string, string>
  body: Buffer
}

interface Got {
  status: number
  /** The received headers, without the date. */
  rawHeaders: string[]
  headers: IncomingHttpHeaders
  text: string
}

/** A gateway in this process, with a separate database. */
export interface TestGateway {
  port: number
  /** The lines that it appended since the last call. */
  takeLines(): string[]
  /** The uses of its limits since the last call. */
  takeUses(): string[]
  send(sent: Sent): Promise<Got>
  /** The next request that reaches this point stops there, as if the gateway had crashed. */
  crashAt(point: GatewayPoint): void
  /** Connections to its database. */
  pool: Pool
  stop(): Promise<void>
}

/** One clock for both, which tests set, because the time of acceptance is in answers and in stored lines. */
export const clock = { at: Date.now() * 1_000 }

/** Whether both refuse all usage now. */
export const suspension = { isOn: false }

export const startGateways = async (): Promise<{ listener: TestGateway; express: TestGateway }> => ({
  listener: await startGateway('gateway_listener', reportListener),
  express: await startGateway('gateway_express', gatewayApp),
})

/** @param purpose names its database: letters, digits and underscores */
export async function startGateway(
  purpose: string,
  make: (...wiring: Parameters<typeof reportListener>) => RequestListener,
): Promise<TestGateway> {
  const database = await createDatabase(purpose)
  const { pool } = database
  await fill(pool)
  const eventLog = await openPostgresEventLog({
    pool,
    topic: 'usage-events',
    partitions: 4,
    log: testLog,
    appendDeadlineMs: 10_000,
    appendsWaitingMax: 10_000,
    appendsWaitingBytesMax: 100_000_000,
    leaseMs: 1_000,
    segmentBytesMax: 1_000_000_000,
    segmentAgeMaxMs: 3_600_000,
    retentionMs: 0,
    housekeepingMs: 0,
    alone: true,
  })
  const lines: string[] = []
  const uses: string[] = []
  let crash: GatewayPoint | undefined
  const report = reportUsage({
    log: {
      partitions: eventLog.partitions,
      append: async (records) => {
        await eventLog.append(records)
        for (const { partition, value } of records) lines.push(`${partition} ${value.toString()}`)
      },
    },
    acceptance: new Acceptance(
      risingClock(() => clock.at),
      1_000,
    ),
    mayBeBehind: () => false,
    clock: () => clock.at,
    findMissing: existingReferences(
      (namespaceId, accountIds, metricIds) =>
        inNamespace(pool, namespaceId, (db) =>
          referenceRepository(db).listExisting(namespaceId, accountIds, metricIds),
        ),
      1_000,
    ),
    requestKeys: requestKeysIn(pool),
    reached: (point) => {
      if (point !== crash) return
      crash = undefined
      throw new Error(`crashed at ${point}`)
    },
  })
  // Corrections have only one handler, and separate tests.
  const correct = () => Promise.reject(new Error('no corrections here'))
  const app = make(
    { report, correct },
    {
      seedNamespace: seedNamespace(pool, report),
      findCaller: cachedFindCaller(lookUpCallers(pool)),
      worlds: testWorlds(pool, 5_000),
      log: testLog,
      bodyBytesMax: BODY_BYTES_MAX,
      findNamed: namedReferences(
        (namespaceId, subjects, types) =>
          inNamespace(pool, namespaceId, (db) =>
            referenceRepository(db).listNamed(namespaceId, subjects, types),
          ),
        1_000,
      ),
      limits: {
        requests: countedLimit('requests', uses),
        accountRequests: countedLimit('account-requests', uses),
        events: countedLimit('events', uses),
        wrongKeys: countedLimit('wrong-keys', uses),
        wrongPasswords: countedLimit('wrong-passwords', uses),
        addressOf: addressBehind([]),
      },
      requestTimeoutMs: 10_000,
      admitWrite: () => {
        if (suspension.isOn) throw new DomainError('suspended', 'not now')
      },
    },
  )
  const server = await listen(app, {
    name: purpose,
    host: '127.0.0.1',
    port: 0,
    portSetting: 'none',
    closeTimeoutMs: 1_000,
  })
  return {
    port: server.port,
    takeLines: () => lines.splice(0),
    takeUses: () => uses.splice(0),
    send: (sent) => send(server.port, sent),
    crashAt: (point) => (crash = point),
    pool,
    async stop() {
      await server.close()
      await eventLog.close()
      await database.close()
    },
  }
}

/** Limits whose window never ends, so that two gateways count alike. One caller has used up its limit. */
function countedLimit(name: string, uses: string[]): RateLimit {
  return {
    name,
    quota: 1_000_000,
    windowS: 1,
    use(caller, points) {
      uses.push(`${name} ${caller} ${points}`)
      const isWithin = caller !== NAMES.keyIds.limited
      return Promise.resolve({ isWithin, remaining: isWithin ? 1_000_000 - points : 0, resetS: 1 })
    },
  }
}

async function fill(pool: Pool): Promise<void> {
  const { company, namespace, account, metric, keys, keyIds } = NAMES
  const permissions = (name: string): Permission[] =>
    name === 'reader' ? ['read:all'] : ['read:all', 'write:all']
  await withTransaction(pool, async (db) => {
    await companyRepository(db).insert({ id: company, name: 'c', mode: 'test', namespaceId: namespace })
    for (const name of ['full', 'reader', 'limited'] as const)
      await insertKey(db, {
        id: keyIds[name],
        companyId: company,
        name,
        key: keys[name],
        permissions: permissions(name),
      })
  })
  await inNamespace(pool, namespace, async (db) => {
    await accountRepository(db).insert(namespace, {
      id: account,
      name: 'a',
      externalId: null,
      customerId: null,
      description: null,
    })
    await metricRepository(db).insert(namespace, {
      id: metric,
      externalId: null,
      name: 'm',
      description: '',
      measurementUnits: 'units',
    })
  })
}

async function send(port: number, { method = 'POST', path, headers, body }: Sent): Promise<Got> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sending = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, resolve)
    sending.on('error', reject)
    sending.end(body)
  })
  const text = (await buffer(response)).toString()
  const { rawHeaders } = response
  const shown = rawHeaders.filter((_, n) => rawHeaders[n - (n % 2)] !== 'Date')
  return { status: response.statusCode ?? 0, rawHeaders: shown, headers: response.headers, text }
}
