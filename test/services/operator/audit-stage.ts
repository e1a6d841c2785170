import { randomUUID } from 'node:crypto'
import { runCommand } from '../../../services/operator/run-command.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { requireUsageStore } from '../../../shared/clickhouse/require-usage-store.ts'
import { newApiKey } from '../../../shared/domain/api-key.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { LOADER_GROUP, USAGE_TOPIC } from '../../../shared/event-log/event-log.ts'
import { openPostgresEventLog } from '../../../shared/event-log/postgres/postgres-event-log.ts'
import { accountRepository } from '../../../shared/postgres/accounts.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace, withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { eventRevisionRepository } from '../../../shared/postgres/event-revisions.ts'
import { openPurges } from '../../../shared/redis/purges.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import type { CommandResult } from '../../support/by-hand.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { insertKey } from '../../support/insert-key.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase } from '../../support/postgres.ts'
import { ACCOUNT, NAMESPACE } from '../../support/usage-event.ts'

export type AuditStage = Awaited<ReturnType<typeof makeAuditStage>>

const READ_BYTES = 1_000_000
const INSERT_BYTES = 32_000_000

/** Makes an event log, ClickHouse and the maintenance commands. The test decides which records are loaded, and when. */
export async function makeAuditStage(purpose: string) {
  const db = await createDatabase(`audit_${purpose}`)
  const clickhouse = await createClickHouse(`audit ${purpose}`)
  await requireUsageStore(clickhouse.client, db.pool, { enters: true })
  const log = await openPostgresEventLog({
    pool: db.pool,
    topic: USAGE_TOPIC,
    partitions: 2,
    log: testLog,
    appendDeadlineMs: 20_000,
    appendsWaitingMax: 1_000,
    appendsWaitingBytesMax: 1e9,
    leaseMs: 60_000,
    segmentBytesMax: 1e12,
    segmentAgeMaxMs: 1e12,
    retentionMs: 1e12,
    housekeepingMs: 0,
    alone: false,
  })
  const consumer = await log.join(LOADER_GROUP)
  const events = usageEventRepository(clickhouse.client)
  const listedUpTo = async () =>
    Math.min(Date.now() * 1_000, (await log.lowestUnread(LOADER_GROUP)) ?? Infinity)
  const purges = openPurges(undefined)
  const openUsage = () => Promise.resolve({ clickhouse: clickhouse.client, log, listedUpTo })
  const deps = {
    pool: db.pool,
    openUsage,
    openClickHouse: () => Promise.resolve(clickhouse.client),
    openEventLog: () => Promise.resolve(log),
    purges,
    embedded: undefined,
    installation: {
      eventLog: { kafka: undefined, partitions: 2 },
      redis: { url: undefined, timeoutMs: 100, prefix: '' },
      dataFolder: undefined,
      urls: {},
      database: 'tally',
      analystAddress: () => undefined,
      hosts: undefined,
    },
  }

  const append = (partition: number, lines: readonly UsageEvent[], acceptedAt: Micros): Promise<void> =>
    log.append([{ partition, acceptedAt, value: Buffer.from(lines.map(usageEventToLine).join('\n')) }])

  /** Stores the records of a partition, and commits its offset. */
  const load = async (partition: number): Promise<void> => {
    const { committed, end } = (await log.lag(LOADER_GROUP)).find((lag) => lag.partition === partition) ?? {
      committed: 0,
      end: 0,
    }
    let lines: Buffer[] = []
    let offset = committed
    const store = async () => {
      if (lines.length > 0) await events.insertLines(Buffer.concat(lines))
      lines = []
    }
    while (offset < end) {
      for (const record of await log.read({ partition, offset }, READ_BYTES)) {
        lines.push(record.value, Buffer.from('\n'))
        offset = record.offset + 1
      }
      if (lines.reduce((sum, { length }) => sum + length, 0) > INSERT_BYTES) await store()
    }
    await store()
    await consumer.commit([{ partition, offset }])
  }

  const keyId = randomUUID()
  await makeOwners(db.pool, keyId)

  return {
    db,
    clickhouse,
    log,
    events,
    deps,
    append,
    load,
    /** Makes the resources to which corrections in a namespace refer. */
    makeAccount: (namespaceId: string) => makeAccount(db.pool, namespaceId),
    /** Stores a correction in PostgreSQL like a gateway, without sending it. */
    async keepCorrection(report: UsageEvent, corrected: UsageEvent, isSent = true): Promise<void> {
      const { namespaceId, id } = report
      await inNamespace(db.pool, namespaceId, async (client) => {
        const revisions = eventRevisionRepository(client)
        await revisions.take(namespaceId, [id], [report])
        const before = (await revisions.listNewest(namespaceId, [id])).get(id)?.revision ?? 0
        const made = { revision: before + 1, event: corrected, keyId, isSent }
        await revisions.insert(namespaceId, [made])
        if (isSent) await revisions.markSent(namespaceId, [made], corrected.correctedAt ?? 0)
      })
    },
    change: async (statement: string) => {
      await clickhouse.client.command({ query: statement })
    },
    /** Runs a command with the functions of the services. */
    async run(name: string, ...args: string[]): Promise<CommandResult> {
      const lines: string[] = []
      const code = await runCommand(name, args, deps, testLog, {
        print: (line) => lines.push(line),
        showProgress: () => undefined,
        signal: new AbortController().signal,
      })
      return { code, output: lines.join('\n') }
    },
    async close() {
      await consumer.close()
      await log.close()
      await clickhouse.close()
      await db.close()
    },
  }
}

/** Makes the resources to which revisions of makeReport's events refer. */
async function makeOwners(pool: Pool, keyId: string): Promise<void> {
  const companyId = randomUUID()
  await withTransaction(pool, async (client) => {
    await companyRepository(client).insert({ id: companyId, name: 'c', mode: 'test', namespaceId: NAMESPACE })
    await insertKey(client, { id: keyId, companyId, key: newApiKey('test'), permissions: ['write:all'] })
  })
  await makeAccount(pool, NAMESPACE)
}

async function makeAccount(pool: Pool, namespaceId: string): Promise<void> {
  const account = { id: ACCOUNT, name: 'a', externalId: null, customerId: null, description: null }
  await inNamespace(pool, namespaceId, (client) => accountRepository(client).insert(namespaceId, account))
}
