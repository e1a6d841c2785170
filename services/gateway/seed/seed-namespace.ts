import { parseAmount } from '../../../shared/amount/amount.ts'
import type { Caller } from '../../../shared/domain/api-key.ts'
import { newId, newUuid } from '../../../shared/domain/ids.ts'
import { DAY_S } from '../../../shared/domain/time-range.ts'
import { findTimeFault } from '../../../shared/domain/usage-event.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { accountRepository } from '../../../shared/postgres/accounts.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { customerRepository } from '../../../shared/postgres/customers.ts'
import { grantRepository } from '../../../shared/postgres/grants.ts'
import { lockCreation } from '../../../shared/postgres/locks/creation-lock.ts'
import { metricRepository } from '../../../shared/postgres/metrics.ts'
import {
  type NamespaceSeed,
  namespaceSeedRepository,
  type SeededResources,
} from '../../../shared/postgres/namespace-seeds.ts'
import { refillConfigurationRepository } from '../../../shared/postgres/refill-configurations.ts'
import type { ReportUsage } from '../report-usage.ts'
import type { ReportedEvent } from '../reported-event.ts'
import { makeCatalogue } from './seed-catalogue.ts'
import {
  generateSeedData,
  generateSeedUsage,
  type SeedData,
  type SeedSource,
  USAGE_DAYS,
} from './seed-data.ts'

interface SeededNamespace extends NamespaceSeed {
  /** The number of usage events. */
  events: number
}

/** @param aheadMs how far the clock of the caller's namespace runs ahead of real time */
export type SeedNamespace = (
  caller: Pick<Caller, 'namespaceId'>,
  aheadMs: number,
  seed: number,
) => Promise<SeededNamespace>

const EVENTS_AT_ONCE = 1_000

/**
 * Seeds a namespace. It makes the resources in one transaction, then reports their usage like any other usage. Each
 * event has a key and a fixed time. So a repeated call makes nothing new, and completes a seed that was interrupted.
 *
 * @throws DomainError conflict when external ids of the seed are taken, or its usage is too old or too new to report
 */
export function seedNamespace(pool: Pool, report: ReportUsage): SeedNamespace {
  return async (caller, aheadMs, seed) => {
    const { namespaceId } = caller
    const now = Math.floor((Date.now() + aheadMs) / 1_000)
    const data = generateSeedData(seed)
    const seeded = await inNamespace(pool, namespaceId, async (db) => {
      await lockCreation(db, 'seeds', namespaceId)
      const seeds = namespaceSeedRepository(db)
      const before = await seeds.find(namespaceId, seed)
      if (before !== undefined) return before
      const made = { upTo: now, resources: await makeResources(db, namespaceId, seed, data, now) }
      await seeds.insert(namespaceId, seed, made)
      return made
    })
    const { upTo, resources } = seeded
    requireReportable(seed, upTo, now)
    const events = [...generateSeedUsage(seed, data)].map((usage): ReportedEvent => ({
      account_id: resources.accountIds[usage.account] ?? '',
      ...sourceFields(usage.source, resources),
      quantity: usage.quantity,
      occurred_at: upTo - usage.secondsBefore,
      idempotency_key: usage.key,
      properties: usage.properties,
    }))
    for (let start = 0; start < events.length; start += EVENTS_AT_ONCE)
      await report({
        caller,
        aheadMs,
        events: events.slice(start, start + EVENTS_AT_ONCE),
        body: Buffer.alloc(0),
        route: 'POST /v2/test/seed',
        requestKey: undefined,
        label: (index) => `events[${start + index}].`,
      })
    return { ...seeded, events: events.length }
  }
}

function sourceFields(
  source: SeedSource,
  { metricIds }: SeededResources,
): Pick<ReportedEvent, 'metric_id' | 'currency'> {
  return source === 'usd' ? { currency: source } : { metric_id: metricIds[source] ?? '' }
}

/** Throws when the usage is too new or too old by now, because the clock was reset or moved years ahead since. */
function requireReportable(seed: number, upTo: number, now: number): void {
  for (const at of [upTo, upTo - USAGE_DAYS * DAY_S]) {
    const fault = findTimeFault(at, now)
    if (fault !== undefined)
      throw new DomainError(
        'conflict',
        `seed: the usage of ${seed} was made at another time and now ${fault}`,
      )
  }
}

async function makeResources(
  db: PoolClient,
  namespaceId: string,
  seed: number,
  data: SeedData,
  now: number,
): Promise<SeededResources> {
  const customerIds: string[] = []
  for (const { name, externalId } of data.customers) {
    const others = { paymentsCustomerId: null, accountingCustomerId: null }
    const customer = { id: newUuid(), name, externalId, ...others }
    customerIds.push((await customerRepository(db).insert(namespaceId, customer)).id)
  }
  const accountIds: string[] = []
  for (const { name, externalId, customer } of data.accounts) {
    const customerId = customer === undefined ? null : (customerIds[customer] ?? null)
    const account = { id: newId('account'), name, externalId, customerId, description: null }
    accountIds.push((await accountRepository(db).insert(namespaceId, account)).id)
  }
  const metricIds: string[] = []
  for (const metric of data.metrics) {
    const inserted = await metricRepository(db).insert(namespaceId, { id: newId('metric'), ...metric })
    metricIds.push(inserted.id)
  }
  const grantIds: string[] = []
  for (const { account, source, amount, description, effectiveS, expiresS } of data.grants) {
    const at = (seconds: number) => new Date((now + seconds) * 1_000)
    const grant = {
      id: newId('grant'),
      accountId: accountIds[account] ?? '',
      source: source === 'usd' ? source : (metricIds[source] ?? ''),
      amount: parseAmount(amount),
      description,
      contractId: null,
      effectiveAt: at(effectiveS),
      expiresAt: expiresS === undefined ? null : at(expiresS),
    }
    grantIds.push((await grantRepository(db).insert(namespaceId, grant)).id)
  }
  const { account, metric, minimumBalance, targetBalance } = data.refill
  await refillConfigurationRepository(db).insert(namespaceId, {
    accountId: accountIds[account] ?? '',
    metricId: metricIds[metric] ?? '',
    minimumBalance: parseAmount(minimumBalance),
    targetBalance: parseAmount(targetBalance),
    isActive: false,
  })
  const startsAt = now - USAGE_DAYS * DAY_S
  const [accountId = ''] = accountIds
  const catalogue = await makeCatalogue(db, namespaceId, { seed, metricIds, accountId, startsAt })
  return { customerIds, accountIds, metricIds, grantIds, ...catalogue }
}
