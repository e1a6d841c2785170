import type { IncomingMessage } from 'node:http'

/** An HTTP URL as a target: its authority, without a user, and the rest. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?@]+)([/?].*)?$/i

/**
 * Rewrites a request whose target is a whole URL, as clients of a proxy send it, to the usual form. `req.url` becomes
 * the path, and the header Host becomes the URL's host, whatever it was (RFC 9112, 3.2.2). `*` stays.
 *
 * A target with a fragment has neither form. Express would drop the fragment. It also reads the path before a fragment
 * differently: `\` as `/`.
 *
 * @returns whether the target has one of these forms
 */
export function putInOriginForm(req: IncomingMessage): boolean {
  const { url = '' } = req
  if (url.includes('#')) return false
  if (url.startsWith('/') || url === '*') return true
  const [, authority, rest = ''] = ABSOLUTE_FORM.exec(url) ?? []
  if (authority === undefined) return false
  req.url = rest.startsWith('/') ? rest : `/${rest}`
  req.headers.host = authority
  return true
}
