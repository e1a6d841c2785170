/** An action that is recorded in the audit trail, as `resource.action`. */
export type AuditedAction =
  | 'customer.created'
  | 'customer.changed'
  | 'account.created'
  | 'account.changed'
  | 'account.archived'
  | 'account.unarchived'
  | 'metric.created'
  | 'metric.changed'
  | 'metric.archived'
  | 'metric.unarchived'
  | 'grant.created'
  | 'grant.voided'
  | 'grant.archived'
  | 'refill_configuration.created'
  | 'refill_configuration.changed'
  | 'product.created'
  | 'product.changed'
  | 'product.archived'
  | 'product.unarchived'
  | 'price.created'
  | 'price.changed'
  | 'price.archived'
  | 'price.unarchived'
  | 'rate_card.created'
  | 'rate_card.changed'
  | 'rate_card.archived'
  | 'rate_card.unarchived'
  | 'contract.created'
  | 'contract.changed'
  | 'contract.canceled'
  | 'contract.uncanceled'
  | 'company.created'
  | 'company.reset'
  | 'company.clock_set'
  | 'company.clock_advanced'
  | 'company.clock_returned'
  | 'api_key.issued'
  | 'api_key.rotated'
  | 'api_key.revoked'
  | 'analyst.added'
  | 'analyst.revoked'

/** A change that is to be recorded. */
export interface NewAuditEntry {
  companyId: string
  /** The API key that was used; null for an operator's command. */
  keyId: string | null
  action: AuditedAction
  /** The resource's id, as in its path. */
  resourceId: string
  /** The fields of the request, by their names in the API; never a secret. */
  changes: object
}

/** A recorded change: who did what, and when. */
export interface AuditEntry extends NewAuditEntry {
  changes: Record<string, unknown>
  id: string
  createdAt: Date
}
