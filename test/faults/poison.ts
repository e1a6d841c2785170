import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import { microsecondClock } from '../../shared/time/microsecond-clock.ts'
import { usageEventToLine } from '../../shared/usage-lines/log-line.ts'
import { ApiClient } from '../support/api-client.ts'
import { makeReport } from '../support/usage-event.ts'
import type { FaultStage } from './fault-stage.ts'

const clock = microsecondClock()

/** An account whose usage the ledger does not have: one of the test company. */
export async function accountBeside({
  services,
  pool,
}: FaultStage): Promise<Pick<UsageEvent, 'namespaceId' | 'accountId'>> {
  const api = new ApiClient(services.api.url, services.testKey)
  const { id: accountId } = await api.create<{ id: string }>('/v2/accounts', { name: 'beside' })
  const { namespaceId = '' } = (await companyRepository(pool).findByName('sandbox')) ?? {}
  return { namespaceId, accountId }
}

/**
 * Appends events that the ledger does not have, in records as large as the gateway's largest.
 *
 * @returns the number of events
 */
export async function appendBulk(stage: FaultStage, records: number): Promise<number> {
  const { eventLog: log } = stage
  const account = await accountBeside(stage)
  const properties = JSON.stringify({ text: 'x'.repeat(450_000) })
  for (let n = 0; n < records; n += AT_ONCE)
    await log.append(
      Array.from({ length: AT_ONCE }, (_, at) => ({
        partition: at % log.partitions,
        acceptedAt: clock(),
        value: Buffer.from(
          `${usageEventToLine(makeReport({ ...account, acceptedAt: clock(), properties }))}\n`,
        ),
      })),
    )
  return records
}

const AT_ONCE = 4

/**
 * Appends two lines in one record that the loader accepts and ClickHouse refuses, because ClickHouse reads no
 * exponents.
 */
export async function appendRefusedLines(log: EventLog): Promise<number> {
  const line = () => `${usageEventToLine(makeReport()).replace('1767225600,', '1.7672256e9,')}\n`
  await log.append([{ partition: 0, acceptedAt: clock(), value: Buffer.from(line() + line()) }])
  return 2
}
