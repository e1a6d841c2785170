import { isIP } from 'node:net'
import type { RequestHandler } from 'express'
import { HttpError } from './http-error.ts'

/** A host with an optional port; an IPv6 address is in brackets. */
const HOST = /^(?:\[([^\]]*)\]|([^:]*?)\.?)(?::\d+)?$/
/** A name without a dot. Nobody can register such a name; containers and machines in one network have such names. */
const LOCAL_NAME = /^[a-z\d_-]+$/i

/**
 * Refuses requests to a host name that is not Tally's. It prevents DNS rebinding: the owner of a web page changes the
 * address of the page's host name to the address of this port. A browser that has the page open then lets the page read
 * the answers of this port, because both have the same host name. Such requests have the page's name in `Host`.
 * Addresses, `localhost` and names without a dot cannot be the host name of such a page. Requests without `Host` are
 * allowed, because HTTP/1.0 may leave it out, and no browser does.
 *
 * @param name one more allowed name
 */
export function requireHost(name: string): RequestHandler {
  return (req, _res, next) => {
    const { host } = req.headers
    if (host !== undefined && !isOurs(host, name))
      throw new HttpError(
        421,
        `Host: ${JSON.stringify(host)} is not a name of this port: use an address, localhost, a name without a dot, or the name in ADMIN_HOST`,
      )
    next()
  }
}

function isOurs(host: string, ours: string): boolean {
  const [, bracketed, name = ''] = HOST.exec(host) ?? []
  if (bracketed !== undefined) return isIP(bracketed) === 6
  return (
    isIP(name) === 4 || LOCAL_NAME.test(name) || (name !== '' && name.toLowerCase() === ours.toLowerCase())
  )
}
