import { formatAmount } from '../../../shared/amount/amount.ts'
import { type Grant, grantStatus } from '../../../shared/domain/grant.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { present, secondsOf, secondsOrNull } from '../core/body-fields.ts'

/** @param now the time for which the status is shown */
export const grantToBody = (grant: Grant, now: Date): SchemaOf<'Grant'> => ({
  id: grant.id,
  ...present<SchemaOf<'Grant'>>({ description: grant.description }),
  account_id: grant.accountId,
  ...sourceToBody(grant.source),
  amount: formatAmount(grant.amount),
  effective_at: secondsOf(grant.effectiveAt),
  ...present<SchemaOf<'Grant'>>({ expires_at: secondsOrNull(grant.expiresAt) }),
  accepted_at: secondsOf(grant.acceptedAt),
  created_at: secondsOf(grant.createdAt),
  updated_at: secondsOf(grant.updatedAt),
  archived_at: secondsOrNull(grant.archivedAt),
  status: grantStatus(grant, now),
  ...present<SchemaOf<'Grant'>>({ contract_v1_id: grant.contractId }),
})
