import type { IncomingMessage } from 'node:http'

/** A target that is an HTTP URL. It captures the authority, which must contain no user, and the rest. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?@]+)([/?].*)?$/i

/**
 * Rewrites a request whose target is a whole URL to the usual form. Clients of a proxy send such targets. `req.url`
 * becomes the path, and the header Host becomes the URL's host, even if the request has another Host (RFC 9112, 3.2.2).
 * The target `*` is not changed.
 *
 * A target with a fragment is not valid. Express would drop the fragment, and would read `\` as `/` in the path before
 * the fragment.
 *
 * @returns whether the target is valid
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
