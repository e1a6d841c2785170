import type { Handlers } from '../../shared/http/operations-app.ts'
import type { BatchedReads } from '../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { createIn, onceIn } from './create.ts'
import { handlerOf as of } from './handler-of.ts'
import * as accounts from './routes/accounts.ts'
import * as apiKeys from './routes/api-keys.ts'
import { listAuditTrail } from './routes/audit-trail.ts'
import * as customers from './routes/customers.ts'
import * as grants from './routes/grants.ts'
import * as metrics from './routes/metrics.ts'
import * as refills from './routes/refill-configurations.ts'

/** What answers operations on resources: they need nothing but PostgreSQL. */
export function resourceHandlers(pool: Pool, reads: BatchedReads, purges: apiKeys.PurgeCaller): Handlers {
  const create = createIn(pool)
  const once = onceIn(pool)
  return {
    createCustomer: of(customers.postCustomer(create)),
    listCustomers: of(customers.listCustomers(pool)),
    getCustomer: of(customers.getCustomer(pool)),
    updateCustomer: of(customers.patchCustomer(pool)),
    createAccount: of(accounts.postAccount(create)),
    listAccounts: of(accounts.listAccounts(pool)),
    getAccount: of(accounts.getAccountById(reads.findAccount)),
    getAccountByExternalId: of(accounts.getAccountByExternalId(pool)),
    updateAccount: of(accounts.patchAccount(pool)),
    archiveAccount: of(accounts.archiveAccount(pool)),
    unarchiveAccount: of(accounts.unarchiveAccount(pool)),
    createMetric: of(metrics.postMetric(create)),
    listMetrics: of(metrics.listMetrics(pool)),
    getMetric: of(metrics.getMetric(pool)),
    updateMetric: of(metrics.patchMetric(pool)),
    archiveMetric: of(metrics.archiveMetric(pool)),
    unarchiveMetric: of(metrics.unarchiveMetric(pool)),
    createGrant: of(grants.postGrant(create)),
    listGrants: of(grants.listGrants(pool)),
    getGrant: of(grants.getGrant(pool)),
    voidGrant: of(grants.voidGrant(pool)),
    archiveGrant: of(grants.archiveGrant(pool)),
    createRefillConfiguration: of(refills.postRefillConfiguration(create)),
    listRefillConfigurations: of(refills.listRefillConfigurations(pool)),
    getRefillConfiguration: of(refills.getRefillConfiguration(pool)),
    updateRefillConfiguration: of(refills.patchRefillConfiguration(pool)),
    listRefills: of(refills.listRefills(pool)),
    createApiKey: of(apiKeys.postApiKey(once)),
    listApiKeys: of(apiKeys.listApiKeys(pool)),
    getApiKey: of(apiKeys.getApiKey(pool)),
    rotateApiKey: of(apiKeys.rotateApiKey(once, purges)),
    revokeApiKey: of(apiKeys.revokeApiKey(pool, purges)),
    listAuditTrail: of(listAuditTrail(pool)),
  }
}
