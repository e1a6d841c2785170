import { type Operation, operation } from '../../../shared/http/operation.ts'
import { requireTestCompany } from '../../../shared/http/require-test-company.ts'
import type { RateLimit } from '../../../shared/rate-limit/rate-limit.ts'
import type { SeedNamespace } from '../seed/seed-namespace.ts'

const DEFAULT_SEED = 1

/** Makes data for a test company. The gateway does this, because the data includes usage reports. */
export const seedOperation = (seedNamespace: SeedNamespace, limit: RateLimit): Operation =>
  operation('seedTestCompany', async ({ caller, body, aheadMs, limit: take }) => {
    await take(limit, 1)
    requireTestCompany(caller)
    const seed = body?.seed ?? DEFAULT_SEED
    const { upTo, resources, events } = await seedNamespace(caller, aheadMs, seed)
    return {
      seed,
      up_to: upTo,
      customer_ids: resources.customerIds,
      account_ids: resources.accountIds,
      metric_ids: resources.metricIds,
      grant_ids: resources.grantIds,
      product_ids: resources.productIds,
      price_ids: resources.priceIds,
      rate_card_id: resources.rateCardId,
      contract_id: resources.contractId,
      events,
    }
  })
