import type { ServerResponse } from 'node:http'
import type { RateLimit } from '../rate-limit/rate-limit.ts'
import { HttpError } from './http-error.ts'

/**
 * Takes points from a caller's limit.
 *
 * @returns whether enough points were left, and the headers with the limit's state. If too few points were left, the
 *   headers include Retry-After
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export async function takeOf(
  limit: RateLimit,
  caller: string,
  points: number,
): Promise<{ isWithin: boolean; headers: Record<string, string> }> {
  const { name, quota, windowS } = limit
  const { isWithin, remaining, resetS } = await limit.use(caller, points)
  const headers = {
    'RateLimit-Policy': `"${name}";q=${quota};w=${windowS}`,
    RateLimit: `"${name}";r=${remaining};t=${resetS}`,
    ...(isWithin ? {} : { 'Retry-After': String(resetS) }),
  }
  return { isWithin, headers }
}

/**
 * Takes points from a caller's limit, and sets the headers with the limit's state.
 *
 * @throws HttpError 429 with Retry-After when too few points are left
 */
export async function limitRate(
  res: ServerResponse,
  limit: RateLimit,
  caller: string,
  points: number,
): Promise<void> {
  const { isWithin, headers } = await takeOf(limit, caller, points)
  if (!isWithin) throw new HttpError(429, 'rate limit exceeded', headers)
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
}
