import type { IncomingMessage } from 'node:http'

/** A URL in HTTP, as a target: its authority, without a user in it, and what follows. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?@]+)([/?].*)?$/i

/**
 * Puts a request whose target is a whole URL, as clients that know of a proxy send it, into the form that all others
 * have: the path as `req.url`, and the URL's host as the header Host, whatever that was (RFC 9112, 3.2.2). `*` stays.
 *
 * A fragment is a part of neither. Express would leave it out, and read the path before it in another way than without
 * one: `\` as `/`.
 *
 * @returns whether the target is one of these
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
