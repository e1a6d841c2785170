import type { Request, RequestHandler, Response } from 'express'
import { LRUCache } from 'lru-cache'
import {
  digestOfApiKey,
  isApiKey,
  type Caller,
  type FoundCaller,
  type Permission,
} from '../domain/api-key.ts'
import { NAMES } from '../redis/names.ts'
import type { Purges } from '../redis/purges.ts'
import type { RateLimit } from '../rate-limit/rate-limit.ts'
import { HttpError } from './http-error.ts'
import { limitRate } from './limit-rate.ts'

/** Looks up whose key it is, if it may be used now. */
type LookUpCaller = (digest: Buffer) => Promise<FoundCaller | undefined>

/** The same, at once when it is known already. */
export type FindCaller = (digest: Buffer) => Promise<Caller | undefined> | Caller | undefined

/** How long an answer about a key may be cached after it was asked for: a revoked key works no longer than this. */
const CALLER_TTL_MS = 4_000
const KEYS_MAX = 10_000

/** How long after it was asked for an answer about a key may be cached. */
const ttlMsOf = (caller: FoundCaller | undefined): number =>
  Math.min(CALLER_TTL_MS, caller?.endsInMs ?? Infinity)

/**
 * Caches whose keys were found for a few seconds, and no longer than the key itself lasts: from then on the database
 * is asked, by whose clock it ends. Several requests at once look a key up once.
 *
 * @param purges tell which callers to forget
 */
export function cachedFindCaller(find: LookUpCaller, purges?: Purges): FindCaller {
  const cache = new LRUCache<string, { caller: Caller | undefined }>({ max: KEYS_MAX })
  const underWay = new Map<string, { work: Promise<Caller | undefined>; startedAt: number }>()
  purges?.onPurge((purge) => {
    if (typeof purge === 'string') {
      cache.clear()
      underWay.clear()
    } else {
      cache.delete(purge.name)
      underWay.delete(purge.name)
    }
  })

  const begin = (name: string, digest: Buffer): Promise<Caller | undefined> => {
    const startedAt = performance.now()
    const work = find(digest).then(
      (caller) => {
        // Whoever waited asked before a purge, and may have the answer; it is not kept.
        if (underWay.get(name)?.work !== work) return caller
        underWay.delete(name)
        const ttl = Math.floor(ttlMsOf(caller) - (performance.now() - startedAt))
        if (ttl > 0) cache.set(name, { caller }, { ttl })
        return caller
      },
      (err: unknown) => {
        if (underWay.get(name)?.work === work) underWay.delete(name)
        throw err
      },
    )
    underWay.set(name, { work, startedAt })
    return work
  }
  return (digest) => {
    const name = NAMES.caller(digest)
    const known = cache.get(name)
    if (known !== undefined) return known.caller
    const asked = underWay.get(name)
    // One that hangs may have been answered before the key was revoked.
    const isFresh = asked !== undefined && performance.now() - asked.startedAt < CALLER_TTL_MS / 2
    return isFresh ? asked.work : begin(name, digest)
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
export const idempotencyKeyOf = (req: Pick<Request, 'get'>): string | undefined => req.get('Idempotency-Key')
