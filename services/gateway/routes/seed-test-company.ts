import type { RequestHandler } from 'express'
import { callerOf } from '../../../shared/http/authentication.ts'
import { aheadMsOf } from '../../../shared/http/enter-world.ts'
import { limitRate } from '../../../shared/http/limit-rate.ts'
import { requireTestCompany } from '../../../shared/http/require-test-company.ts'
import type { RateLimit } from '../../../shared/rate-limit/rate-limit.ts'
import type { SeedNamespace } from '../seed-namespace.ts'

const DEFAULT_SEED = 1

/** POST /v2/test/seed: it reports usage, so it is the gateway's. */
export function postSeed(seedNamespace: SeedNamespace, limit: RateLimit): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    await limitRate(res, limit, caller.keyId, 1)
    requireTestCompany(caller)
    const { seed = DEFAULT_SEED } = (req.body ?? {}) as { seed?: number }
    const { upTo, resources, events } = await seedNamespace(caller, aheadMsOf(res), seed)
    res.json({
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
    })
  }
}
