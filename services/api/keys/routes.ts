import type { Request, RequestHandler } from 'express'
import { newApiKey, type Permission } from '../../../shared/domain/api-key.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { issueKey } from '../../../shared/keys/issue-key.ts'
import { revokeKey } from '../../../shared/keys/revoke-key.ts'
import { rotateKey, type RotatedKey } from '../../../shared/keys/rotate-key.ts'
import { apiKeyRepository, type KeyEnd } from '../../../shared/postgres/api-keys.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { NAMES } from '../../../shared/redis/names.ts'
import type { Purges } from '../../../shared/redis/purges.ts'
import { idOf, type Once } from '../core/create.ts'
import { routeOf } from '../core/route-of.ts'
import { pageToBody } from '../core/body-fields.ts'
import { apiKeyToBody } from './body.ts'
import { pageOfQuery } from '../core/page-query.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf } from '../core/handler-of.ts'

/** API keys of a company. */
export const keyHandlers = (pool: Pool, once: Once, purges: PurgeCaller): Handlers => ({
  createApiKey: handlerOf(postApiKey(once)),
  listApiKeys: handlerOf(listApiKeys(pool)),
  getApiKey: handlerOf(getApiKey(pool)),
  rotateApiKey: handlerOf(rotateApiKey(once, purges)),
  revokeApiKey: handlerOf(revokeApiKey(pool, purges)),
})

/** Tells other processes to forget what they know of a key. */
type PurgeCaller = Pick<Purges, 'purge'>

interface NewApiKeyBody {
  name: string
  permissions: Permission[]
  expires_at?: number
}

function postApiKey(once: Once): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const { name, permissions, expires_at: expiresAt } = req.body as NewApiKeyBody
    const secret = newApiKey(caller.mode)
    const wanted = {
      companyId: caller.companyId,
      name,
      permissions,
      expiresAt: expiresAt === undefined ? null : new Date(expiresAt * 1_000),
      secret,
    }
    const attempt = { route: 'POST /v2/api-keys', key: idempotencyKeyOf(req), changes: req.body as object }
    const made = await once(caller, attempt, idOf, (db) => issueKey(db, caller.keyId, wanted))
    res.json({ key: secret, api_key: apiKeyToBody(made, new Date()) })
  }
}

function listApiKeys(pool: Pool): RequestHandler {
  return async (req, res) => {
    const page = await apiKeyRepository(pool).list(callerOf(res).companyId, pageOfQuery(req))
    const now = new Date()
    res.json(pageToBody(page, (key) => apiKeyToBody(key, now)))
  }
}

type OfApiKey = Request<{ api_key_id: string }>

const idIn = ({ params }: OfApiKey): string => params.api_key_id.toLowerCase()

function getApiKey(pool: Pool): RequestHandler<OfApiKey['params']> {
  return async (req, res) => {
    const key = await apiKeyRepository(pool).find(callerOf(res).companyId, idIn(req))
    res.json(apiKeyToBody(found(key), new Date()))
  }
}

const ROTATE = 'POST /v2/api-keys/{api_key_id}/rotate'

interface RotationBody {
  overlap_seconds?: number
  old_key_ends_at?: number
  permissions?: Permission[]
  expires_at?: number | null
}

function rotateApiKey(once: Once, purges: PurgeCaller): RequestHandler<OfApiKey['params']> {
  return async (req, res) => {
    const caller = callerOf(res)
    const { permissions, expires_at: expiresAt, ...end } = req.body as RotationBody
    const secret = newApiKey(caller.mode)
    const wanted = {
      companyId: caller.companyId,
      keyId: idIn(req),
      secret,
      permissions,
      expiresAt: typeof expiresAt === 'number' ? new Date(expiresAt * 1_000) : expiresAt,
      oldKeyEnd: endOf(end),
    }
    const attempt = {
      route: routeOf(ROTATE, req.params),
      formerRoute: ROTATE,
      key: idempotencyKeyOf(req),
      changes: req.body as object,
    }
    const { made, old, oldDigest } = await once(
      caller,
      attempt,
      (rotated: RotatedKey) => rotated.made.id,
      async (db) => found(await rotateKey(db, caller.keyId, wanted)),
    )
    await purges.purge(NAMES.caller(oldDigest))
    const now = new Date()
    res.json({ key: secret, api_key: apiKeyToBody(made, now), old_api_key: apiKeyToBody(old, now) })
  }
}

/** @throws DomainError unprocessable unless it says in exactly one way when the old key ends */
function endOf({ overlap_seconds: afterS, old_key_ends_at: at }: RotationBody): KeyEnd {
  if (afterS !== undefined && at === undefined) return { afterS }
  if (at !== undefined && afterS === undefined) return { at: new Date(at * 1_000) }
  throw new DomainError('unprocessable', 'overlap_seconds, old_key_ends_at: exactly one of them is required')
}

function revokeApiKey(pool: Pool, purges: PurgeCaller): RequestHandler<OfApiKey['params']> {
  return async (req, res) => {
    const { companyId, keyId, namespaceId } = callerOf(res)
    const { key } = await inNamespace(pool, namespaceId, async (db) =>
      found(await revokeKey(db, keyId, companyId, idIn(req))),
    )
    await purges.purge(NAMES.caller(key.digest))
    res.json(apiKeyToBody(key, new Date()))
  }
}

function found<T>(key: T | undefined): T {
  if (key === undefined) throw new DomainError('not_found', 'no such key')
  return key
}
