import { newApiKey } from '../../../shared/domain/api-key.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { readOpenApiDocument } from '../../../shared/http/openapi-document.ts'
import { type Operation, operation, type RequestOf } from '../../../shared/http/operation.ts'
import { issueKey } from '../../../shared/keys/issue-key.ts'
import { revokeKey } from '../../../shared/keys/revoke-key.ts'
import { type RotatedKey, rotateKey } from '../../../shared/keys/rotate-key.ts'
import { accountRepository } from '../../../shared/postgres/accounts.ts'
import { apiKeyRepository, type KeyEnd } from '../../../shared/postgres/api-keys.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { NAMES } from '../../../shared/redis/names.ts'
import type { Purges } from '../../../shared/redis/purges.ts'
import { clockToBody, pageToBody } from '../core/body-fields.ts'
import { attemptsOf, idOf, type Once } from '../core/once.ts'
import { pageIn } from '../core/page-query.ts'
import { apiKeyToBody } from './body.ts'

/** Makes other processes remove a key from their caches. */
type PurgeCaller = Pick<Purges, 'purge'>

/** Operations on API keys of a company. Times of keys are real times, even when the company has a test clock. */
export function keyOperations(pool: Pool, once: Once, purges: PurgeCaller): Operation[] {
  const { version } = readOpenApiDocument().info
  const attemptOf = attemptsOf('createApiKey')
  return [
    operation('getCaller', async ({ caller: { keyId, namespaceId }, clock, aheadMs }) => {
      const { key, company } = found(await apiKeyRepository(pool).findWithCompany(keyId))
      return {
        company,
        namespace_id: namespaceId,
        account_id: key.accountId,
        api_key: apiKeyToBody(key, new Date()),
        ...clockToBody(aheadMs, clock().getTime() - aheadMs),
        version,
      }
    }),
    operation('createApiKey', async (request) => {
      const { caller, body } = request
      const { name, permissions, account_id: accountId = null, expires_at: expiresAt } = body
      const secret = newApiKey(caller.mode, accountId !== null)
      const wanted = {
        companyId: caller.companyId,
        name,
        permissions,
        accountId,
        expiresAt: expiresAt === undefined ? null : new Date(expiresAt * 1_000),
        secret,
      }
      const made = await once(caller, attemptOf(request), idOf, async (db, namespaceId) => {
        if (accountId !== null) await requireAccount(db, namespaceId, accountId)
        return issueKey(db, caller.keyId, wanted)
      })
      return { key: secret, api_key: apiKeyToBody(made, new Date()) }
    }),
    operation('listApiKeys', async ({ caller, query }) => {
      const page = await apiKeyRepository(pool).list(caller.companyId, pageIn(query), query.account_id)
      const now = new Date()
      return pageToBody(page, (key) => apiKeyToBody(key, now))
    }),
    operation('getApiKey', async ({ caller, params }) => {
      const key = await apiKeyRepository(pool).find(caller.companyId, params.api_key_id.toLowerCase())
      return apiKeyToBody(found(key), new Date())
    }),
    rotation(once, purges),
    operation('revokeApiKey', async ({ caller: { companyId, keyId, namespaceId }, params }) => {
      const { key } = await inNamespace(pool, namespaceId, async (db) =>
        found(await revokeKey(db, keyId, companyId, params.api_key_id.toLowerCase())),
      )
      await purges.purge(NAMES.caller(key.digest))
      return apiKeyToBody(key, new Date())
    }),
  ]
}

/** Replaces a key with a new one. The old key keeps working for a while. */
function rotation(once: Once, purges: PurgeCaller): Operation {
  const attemptOf = attemptsOf('rotateApiKey')
  return operation('rotateApiKey', async (request) => {
    const { caller, params, body } = request
    const { permissions, expires_at: expiresAt } = body
    const wanted = {
      companyId: caller.companyId,
      keyId: params.api_key_id.toLowerCase(),
      mode: caller.mode,
      permissions,
      expiresAt: typeof expiresAt === 'number' ? new Date(expiresAt * 1_000) : expiresAt,
      oldKeyEnd: endOf(body),
    }
    const { made, secret, old, oldDigest } = await once(
      caller,
      attemptOf(request),
      (rotated: RotatedKey) => rotated.made.id,
      async (db) => found(await rotateKey(db, caller.keyId, wanted)),
    )
    await purges.purge(NAMES.caller(oldDigest))
    const now = new Date()
    return { key: secret, api_key: apiKeyToBody(made, now), old_api_key: apiKeyToBody(old, now) }
  })
}

type Rotation = RequestOf<'rotateApiKey'>['body']

/** @throws DomainError unprocessable unless exactly one of the fields says when the old key stops working */
function endOf({ overlap_seconds: afterS, old_key_ends_at: at }: Rotation): KeyEnd {
  if (afterS !== undefined && at === undefined) return { afterS }
  if (at !== undefined && afterS === undefined) return { at: new Date(at * 1_000) }
  throw new DomainError('unprocessable', 'overlap_seconds, old_key_ends_at: exactly one of them is required')
}

/** @throws DomainError unprocessable when there is no such account */
async function requireAccount(db: PoolClient, namespaceId: string, accountId: string): Promise<void> {
  if ((await accountRepository(db).find(namespaceId, accountId)) === undefined)
    throw new DomainError('unprocessable', 'account_id: there is no such account')
}

function found<T>(key: T | undefined): T {
  if (key === undefined) throw new DomainError('not_found', 'no such key')
  return key
}
