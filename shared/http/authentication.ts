import type { IncomingMessage } from 'node:http'
import type { Request, RequestHandler, Response } from 'express'
import { LRUCache } from 'lru-cache'
import {
  type Caller,
  digestOfApiKey,
  type FoundCaller,
  isApiKey,
  type Permission,
} from '../domain/api-key.ts'
import type { RateLimits } from '../rate-limit/rate-limits.ts'
import { NAMES } from '../redis/names.ts'
import type { Purges } from '../redis/purges.ts'
import { noteCaller, notedCaller } from './callers.ts'
import { HttpError } from './http-error.ts'
import { takeOf } from './limit-rate.ts'

/** Looks up the caller that a key belongs to; undefined if the key may not be used now. */
type LookUpCaller = (digest: Buffer) => Promise<FoundCaller | undefined>

/**
 * Finds the caller that a key belongs to, if the key may be used now. A cached answer is returned without a promise.
 */
export type FindCaller = (digest: Buffer) => Promise<Caller | undefined> | Caller | undefined

/**
 * The longest time for which the caller of a key may be cached, counted from the start of the look-up. A revoked key
 * works no longer than this.
 */
const CALLER_TTL_MS = 4_000
const KEYS_MAX = 10_000
/**
 * The maximum number of wrong keys that are cached. They have a cache of their own, so that they do not displace valid
 * keys.
 */
const WRONG_KEYS_MAX = 10_000

/** How long the result of a look-up may be cached, counted from the start of the look-up. */
const ttlMsOf = (caller: FoundCaller | undefined): number =>
  Math.min(CALLER_TTL_MS, caller?.endsInMs ?? Infinity)

/**
 * Caches the callers of keys for a few seconds, but no longer than the key is valid. After that time, the key is looked
 * up again, and the database's clock decides whether it is valid. Requests that arrive together share one look-up of a
 * key.
 *
 * @param purges says which callers must be removed from the cache
 */
export function cachedFindCaller(find: LookUpCaller, purges?: Purges): FindCaller {
  const cache = new LRUCache<string, Caller>({ max: KEYS_MAX })
  const wrong = new LRUCache<string, true>({ max: WRONG_KEYS_MAX })
  const underWay = new Map<string, { work: Promise<Caller | undefined>; startedAt: number }>()
  purges?.onPurge((purge) => {
    if (typeof purge === 'string') {
      cache.clear()
      wrong.clear()
      underWay.clear()
    } else {
      cache.delete(purge.name)
      wrong.delete(purge.name)
      underWay.delete(purge.name)
    }
  })

  const begin = (name: string, digest: Buffer): Promise<Caller | undefined> => {
    const startedAt = performance.now()
    const work = find(digest).then(
      (caller) => {
        // This look-up began before a purge, so its answer may be outdated, and is not cached.
        if (underWay.get(name)?.work !== work) return caller
        underWay.delete(name)
        const ttl = Math.floor(ttlMsOf(caller) - (performance.now() - startedAt))
        if (ttl > 0 && caller !== undefined) cache.set(name, caller, { ttl })
        else if (ttl > 0) wrong.set(name, true, { ttl })
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
    const cached = cache.get(name)
    if (cached !== undefined) return cached
    if (wrong.has(name)) return undefined
    const asked = underWay.get(name)
    // A look-up that hangs may have read the key before it was revoked.
    const isFresh = asked !== undefined && performance.now() - asked.startedAt < CALLER_TTL_MS / 2
    return isFresh ? asked.work : begin(name, digest)
  }
}

/** The caller that the key of a request belongs to; undefined if the request has no valid key. */
export function findCallerOf(
  req: Pick<IncomingMessage, 'headers'>,
  findCaller: FindCaller,
): ReturnType<FindCaller> {
  const key = keyOf(req)
  return key !== undefined && isApiKey(key) ? findCaller(digestOfApiKey(key)) : undefined
}

const BEARER = /^bearer +(.*)$/i

/**
 * The key of a request, from `x-api-key` or `Authorization: Bearer`. A request with both has none, even if they are
 * equal: it must not depend on a proxy which of two keys counts. Other schemes of Authorization are not for Tally.
 */
function keyOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const { 'x-api-key': key, authorization } = headers
  const [, bearer] = (authorization !== undefined && BEARER.exec(authorization)) || []
  if (bearer === undefined) return typeof key === 'string' ? key : undefined
  return key === undefined ? bearer : undefined
}

/**
 * Finds the caller of a request by its key, before any part of the body is read.
 *
 * @param limits limit the wrong keys of an address. Above the limit, the answers say when to try again
 * @param found the result of findCallerOf, if it was called already
 * @throws HttpError 401 for a wrong key, even above the limit, so that the user of a revoked key learns that the key is
 *   not valid
 */
export async function identify(
  req: IncomingMessage,
  { findCaller, limits }: { findCaller: FindCaller; limits: Pick<RateLimits, 'wrongKeys' | 'addressOf'> },
  found: ReturnType<FindCaller> = findCallerOf(req, findCaller),
): Promise<Caller> {
  const caller = await found
  if (caller !== undefined) return caller
  const { headers } = await takeOf(limits.wrongKeys, limits.addressOf(req), 1)
  throw new HttpError(401, 'Invalid API key', headers)
}

/** If a body took longer than this to arrive, the key is checked again. */
const LONG_BODY_MS = 1_000

/**
 * Checks the caller again if the body took long to arrive: a key that was revoked in the meantime must not write.
 *
 * @param sinceMs the time at which the headers had arrived, by `performance`
 * @throws HttpError 401
 */
export async function identifyAgain(
  req: IncomingMessage,
  access: Parameters<typeof identify>[1],
  sinceMs: number,
): Promise<void> {
  if (performance.now() - sinceMs > LONG_BODY_MS) await identify(req, access)
}

/** @throws HttpError 403 */
export function requirePermission({ permissions }: Caller, sufficient: readonly Permission[]): void {
  if (!sufficient.some((permission) => permissions.includes(permission)))
    throw new HttpError(403, `this key does not have the permission ${sufficient.join(' or ')}`)
}

/**
 * A step of Express: finds the caller and checks the permissions.
 *
 * @param sufficient a key needs one of these permissions
 */
export function authenticate(
  access: Parameters<typeof identify>[1],
  sufficient: readonly Permission[],
): RequestHandler {
  return async (req, res, next) => {
    const caller = notedCaller(req) ?? (await identify(req, access))
    noteCaller(req, caller)
    requirePermission(caller, sufficient)
    Object.assign(res.locals, { caller, identifiedMs: performance.now() })
    next()
  }
}

/** A step of Express, after the body is read: see identifyAgain. */
export function authenticateAgain(access: Parameters<typeof identify>[1]): RequestHandler {
  return async (req, res, next) => {
    await identifyAgain(req, access, res.locals['identifiedMs'] as number)
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
