import type { Account } from '../../../shared/domain/account.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { present, secondsOf, secondsOrNull } from '../core/body-fields.ts'

export const accountToBody = (account: Account): SchemaOf<'Account'> => ({
  id: account.id,
  ...present<SchemaOf<'Account'>>({
    external_id: account.externalId,
    service_customer_id: account.customerId,
  }),
  name: account.name,
  ...present<SchemaOf<'Account'>>({ description: account.description }),
  created_at: secondsOf(account.createdAt),
  updated_at: secondsOf(account.updatedAt),
  archived_at: secondsOrNull(account.archivedAt),
})
