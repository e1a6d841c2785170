import type { IncomingMessage, ServerResponse } from 'node:http'

/** For how many seconds a browser may remember the answer to a preflight. */
const PREFLIGHT_S = 600

/** Which web pages of other origins may read answers, each by its origin: `https://app.example.com`. */
export type BrowserOrigins = ReadonlySet<string>

export const NO_ORIGINS: BrowserOrigins = new Set()

/** Whether a text is an origin, written as browsers send it. There are no wildcards. */
export function isOrigin(text: string): boolean {
  if (!URL.canParse(text) || text.includes('*')) return false
  const { origin, protocol } = new URL(text)
  return origin === text && (protocol === 'https:' || protocol === 'http:')
}

/** The page that sends a request, if it is one of these. */
export function pageOf({ headers }: IncomingMessage, origins: BrowserOrigins): string | undefined {
  const { origin } = headers
  return origin !== undefined && origins.has(origin) ? origin : undefined
}

/** Lets the page that sent a request read its answer, if it is one of these. */
export function showToPage(req: IncomingMessage, res: ServerResponse, origins: BrowserOrigins): void {
  const page = pageOf(req, origins)
  if (page === undefined) return
  res.setHeader('Access-Control-Allow-Origin', page)
  res.setHeader('Access-Control-Expose-Headers', 'RateLimit, RateLimit-Policy, Retry-After')
  res.setHeader('Vary', 'Origin')
}

/** Answers a preflight. It has no key itself. */
export function answerPreflight(res: ServerResponse, page: string): void {
  res.setHeader('Access-Control-Allow-Origin', page)
  res.setHeader('Access-Control-Allow-Methods', 'GET, HEAD')
  res.setHeader('Access-Control-Allow-Headers', 'x-api-key, authorization')
  res.setHeader('Access-Control-Max-Age', PREFLIGHT_S)
  res.setHeader('Vary', 'Origin')
  res.writeHead(204).end()
}
