import type { Request, RequestHandler, Response } from 'express'
import { LRUCache } from 'lru-cache'
import { digestOfApiKey, isApiKey, type Caller, type Permission } from '../domain/api-key.ts'
import type { RateLimit } from '../rate-limit/rate-limits.ts'
import { HttpError } from './http-error.ts'
import { limitRate } from './limit-rate.ts'

/** Finds whose key it is, if it may be used now; at once when that is known already. */
export type FindCaller = (digest: Buffer) => Promise<Caller | undefined> | Caller | undefined

/** How long an answer about a key is believed: a revoked key works no longer than this. */
const BELIEVED_MS = 4_000
const KEYS_MAX = 10_000

/** Remembers whose keys were found for a few seconds; several requests at once look a key up once. */
export function cachedFindCaller(find: FindCaller): FindCaller {
  const cache = new LRUCache<string, { caller: Caller | undefined }, Buffer>({
    max: KEYS_MAX,
    ttl: BELIEVED_MS,
    fetchMethod: async (_digest, _stale, { context }) => ({ caller: await find(context) }),
  })
  return (digest) => {
    const id = digest.toString('latin1')
    const known = cache.get(id)
    return known === undefined
      ? cache.fetch(id, { context: digest }).then((found) => found?.caller)
      : known.caller
  }
}

/**
 * Finds the caller before anything of the body is read.
 *
 * @param wrongKeys how many wrong keys an address may try; a right one is served whatever else came from there
 * @param permission what the key must be allowed to do
 */
export function authenticate(find: FindCaller, wrongKeys: RateLimit, permission: Permission): RequestHandler {
  return async (req, res, next) => {
    const key = req.headers['x-api-key']
    const isWellFormed = typeof key === 'string' && isApiKey(key)
    const caller = isWellFormed ? await find(digestOfApiKey(key)) : undefined
    if (caller === undefined) {
      await limitRate(res, wrongKeys, req.socket.remoteAddress ?? '', 1)
      throw new HttpError(401, 'Invalid API key')
    }
    if (!caller.permissions.includes(permission))
      throw new HttpError(403, `this key does not have the permission ${permission}`)
    res.locals['caller'] = caller
    next()
  }
}

/** The caller that authenticate found. */
export function callerOf(res: Response): Caller {
  const caller = res.locals['caller'] as Caller | undefined
  if (caller === undefined) throw new Error('this route does not authenticate its callers')
  return caller
}

/** The Idempotency-Key header, if there is one. */
export const idempotencyKeyOf = (req: Request): string | undefined => req.get('Idempotency-Key')
