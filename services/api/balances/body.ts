import { formatAmount } from '../../../shared/amount/amount.ts'
import type { Balance } from '../../../shared/domain/balance.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'

export const balanceToBody = (balance: Balance) => ({
  account_id: balance.accountId,
  ...sourceToBody(balance.source),
  grant_total: formatAmount(balance.grantTotal),
  usage_total: formatAmount(balance.usageTotal),
  balance: formatAmount(balance.balance),
})
