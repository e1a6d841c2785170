import { formatAmount, subtractAmounts } from '../../../shared/amount/amount.ts'
import type { AuditEntry } from '../../../shared/domain/audit-entry.ts'
import type { Balance } from '../../../shared/domain/balance.ts'
import {
  grantStatus,
  type Account,
  type Customer,
  type Grant,
  type Metric,
  type Refill,
  type RefillConfiguration,
} from '../../../shared/domain/resources.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import type { Page } from '../../../shared/domain/page.ts'
import { apiKeyStatus, type ApiKey } from '../../../shared/postgres/api-keys.ts'

/** Resources as answers show them: optional fields without a value are left out, nullable ones are null. */

export const accountToBody = (account: Account) => ({
  id: account.id,
  ...present({ external_id: account.externalId, service_customer_id: account.customerId }),
  name: account.name,
  ...present({ description: account.description }),
  created_at: secondsOf(account.createdAt),
  updated_at: secondsOf(account.updatedAt),
  archived_at: secondsOrNull(account.archivedAt),
})

export const customerToBody = (customer: Customer) => ({
  id: customer.id,
  name: customer.name,
  ...present({
    external_id: customer.externalId,
    payments_customer_id: customer.paymentsCustomerId,
    accounting_customer_id: customer.accountingCustomerId,
  }),
  created_at: secondsOf(customer.createdAt),
  updated_at: secondsOf(customer.updatedAt),
})

export const metricToBody = (metric: Metric) => ({
  id: metric.id,
  name: metric.name,
  description: metric.description,
  measurement_units: metric.measurementUnits,
  created_at: secondsOf(metric.createdAt),
  updated_at: secondsOf(metric.updatedAt),
  archived_at: secondsOrNull(metric.archivedAt),
})

/** @param now decides the status */
export const grantToBody = (grant: Grant, now: Date) => ({
  id: grant.id,
  ...present({ description: grant.description }),
  account_id: grant.accountId,
  ...sourceToBody(grant.source),
  amount: formatAmount(grant.amount),
  effective_at: secondsOf(grant.effectiveAt),
  ...present({ expires_at: secondsOrNull(grant.expiresAt) }),
  accepted_at: secondsOf(grant.acceptedAt),
  created_at: secondsOf(grant.createdAt),
  updated_at: secondsOf(grant.updatedAt),
  archived_at: secondsOrNull(grant.archivedAt),
  status: grantStatus(grant, now),
  ...present({ contract_v1_id: grant.contractId }),
})

export const refillConfigurationToBody = (configuration: RefillConfiguration) => ({
  account_id: configuration.accountId,
  metric_id: configuration.metricId,
  minimum_balance: formatAmount(configuration.minimumBalance),
  target_balance: formatAmount(configuration.targetBalance),
  is_active: configuration.isActive,
  created_at: secondsOf(configuration.createdAt),
  updated_at: secondsOf(configuration.updatedAt),
})

export const refillToBody = (refill: Refill) => ({
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

export const balanceToBody = (balance: Balance) => ({
  account_id: balance.accountId,
  ...sourceToBody(balance.source),
  grant_total: formatAmount(balance.grantTotal),
  usage_total: formatAmount(balance.usageTotal),
  balance: formatAmount(balance.balance),
})

/** @param now decides the status */
export const apiKeyToBody = (key: ApiKey, now: Date) => ({
  id: key.id,
  name: key.name,
  last_characters: key.lastCharacters,
  permissions: key.permissions,
  status: apiKeyStatus(key, now),
  created_at: secondsOf(key.createdAt),
  issued_by: key.issuedBy,
  last_used_at: secondsOrNull(key.lastUsedAt),
  ...present({ expires_at: secondsOrNull(key.expiresAt), replaced_by: key.replacedBy }),
  revoked_at: secondsOrNull(key.revokedAt),
})

export const auditEntryToBody = (entry: AuditEntry) => ({
  id: entry.id,
  created_at: secondsOf(entry.createdAt),
  api_key_id: entry.keyId,
  action: entry.action,
  resource_id: entry.resourceId,
  changes: entry.changes,
})

export const pageToBody = <T>({ items, hasMore }: Page<T>, toBody: (item: T) => object) => ({
  data: items.map((item) => toBody(item)),
  has_more: hasMore,
})

const secondsOf = (at: Date): number => Math.floor(at.getTime() / 1_000)
const secondsOrNull = (at: Date | null): number | null => (at === null ? null : secondsOf(at))

/** Without the fields that are null. */
function present<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
}
