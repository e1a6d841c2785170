import { formatAmount, subtractAmounts } from '../../../shared/amount/amount.ts'
import type { Refill, RefillConfiguration } from '../../../shared/domain/refill.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { secondsOf } from '../core/body-fields.ts'

export const refillConfigurationToBody = (
  configuration: RefillConfiguration,
): SchemaOf<'RefillConfiguration'> => ({
  account_id: configuration.accountId,
  metric_id: configuration.metricId,
  minimum_balance: formatAmount(configuration.minimumBalance),
  target_balance: formatAmount(configuration.targetBalance),
  is_active: configuration.isActive,
  created_at: secondsOf(configuration.createdAt),
  updated_at: secondsOf(configuration.updatedAt),
})

export const refillToBody = (refill: Refill): SchemaOf<'Refill'> => ({
  grant_id: refill.grantId,
  account_id: refill.accountId,
  metric_id: refill.metricId,
  occurrence: Number(refill.occurrence),
  amount: formatAmount(refill.amount),
  minimum_balance: formatAmount(refill.minimumBalance),
  target_balance: formatAmount(refill.targetBalance),
  grant_total: formatAmount(refill.grantTotal),
  usage_total: formatAmount(refill.usageTotal),
  balance: formatAmount(subtractAmounts(refill.grantTotal, refill.usageTotal)),
  effective_at: secondsOf(refill.effectiveAt),
  created_at: secondsOf(refill.createdAt),
})
