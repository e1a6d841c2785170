import { type Properties, propertyPairs } from '../../shared/domain/properties.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import type { RunningApi, TestCaller } from './start-api.ts'
import { makeReport } from './usage-event.ts'

/** The fields of a stored event that a test may set; the others are generated. */
export type Stored = Partial<Pick<UsageEvent, 'accountId' | 'quantity' | 'occurredAt' | 'acceptedAt'>> & {
  source: string
  key?: string
  properties?: Properties
}

/** Makes a company with accounts and metrics, whose events are stored without a gateway. */
export async function makeStoredWorld(running: RunningApi, accountCount = 1, metricCount = 2) {
  const caller = await running.newCaller()
  const accounts: string[] = []
  const metrics: string[] = []
  while (accounts.length < accountCount) accounts.push(await create(caller, '/v2/accounts'))
  while (metrics.length < metricCount) metrics.push(await create(caller, '/v2/metrics'))
  const [account = ''] = accounts
  const { namespaceId } = caller

  const makeEvent = ({ properties = {}, ...fields }: Stored): UsageEvent =>
    makeReport({
      namespaceId,
      accountId: account,
      properties: JSON.stringify(properties),
      propertyPairs: propertyPairs(properties),
      ...fields,
    })

  return {
    ...caller,
    account,
    accounts,
    metrics,
    makeEvent,
    /** Stores events in one insert. */
    async store(...events: readonly Stored[]): Promise<UsageEvent[]> {
      const made = events.map(makeEvent)
      await running.store(made)
      return made
    },
    async grant(fields: object): Promise<string> {
      const given = { account_id: account, amount: '1', effective_at: 0, ...fields }
      return (await caller.api.create<{ id: string }>('/v2/grants', given)).id
    },
    /** Changes rows in the caller's namespace, like operations of the API. */
    async change(statement: string, values: readonly unknown[]): Promise<void> {
      await inNamespace(running.pool, namespaceId, (db) => db.query(statement, [...values]))
    },
  }
}

export type StoredWorld = Awaited<ReturnType<typeof makeStoredWorld>>

const create = async ({ api }: TestCaller, path: string): Promise<string> =>
  (await api.create<{ id: string }>(path, { name: 'n' })).id
