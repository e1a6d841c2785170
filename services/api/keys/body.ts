import type { SchemaOf } from '../../../shared/http/operation.ts'
import { type ApiKey, apiKeyStatus } from '../../../shared/postgres/api-keys.ts'
import { present, secondsOf, secondsOrNull } from '../core/body-fields.ts'

/** @param now the time for which the status is shown */
export const apiKeyToBody = (key: ApiKey, now: Date): SchemaOf<'ApiKey'> => ({
  id: key.id,
  name: key.name,
  last_characters: key.lastCharacters,
  permissions: key.permissions,
  ...present<SchemaOf<'ApiKey'>>({ account_id: key.accountId }),
  status: apiKeyStatus(key, now),
  created_at: secondsOf(key.createdAt),
  issued_by: key.issuedBy,
  last_used_at: secondsOrNull(key.lastUsedAt),
  ...present<SchemaOf<'ApiKey'>>({ expires_at: secondsOrNull(key.expiresAt), replaced_by: key.replacedBy }),
  revoked_at: secondsOrNull(key.revokedAt),
})
