import type { ServerResponse } from 'node:http'
import type { RateLimit } from '../rate-limit/rate-limit.ts'
import { HttpError } from './http-error.ts'

/**
 * Takes points of a caller's limit, and says in the answer's headers how it stands.
 *
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 * @throws HttpError 429 with Retry-After when fewer are left
 */
export async function limitRate(
  res: ServerResponse,
  limit: RateLimit,
  caller: string,
  points: number,
): Promise<void> {
  const { name, quota, windowS } = limit
  const { isWithin, remaining, resetS } = await limit.use(caller, points)
  const headers = {
    'RateLimit-Policy': `"${name}";q=${quota};w=${windowS}`,
    RateLimit: `"${name}";r=${remaining};t=${resetS}`,
  }
  if (!isWithin)
    throw new HttpError(429, 'rate limit exceeded', { ...headers, 'Retry-After': String(resetS) })
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
}
