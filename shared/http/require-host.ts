import { isIP } from 'node:net'
import type { RequestHandler } from 'express'
import { HttpError } from './http-error.ts'

/** A host with an optional port; an IPv6 address is in brackets. */
const HOST = /^(?:\[([^\]]*)\]|([^:]*?)\.?)(?::\d+)?$/
/** A name that nobody can register: containers and machines in one network use such names. */
const LOCAL_NAME = /^[a-z\d_-]+$/i

/**
 * Refuses requests to a host name that is not Tally's. Otherwise a web page opened in a browser on this machine could
 * read what a port shows without a key: the page's own name would be made to lead here (DNS rebinding). To the browser
 * both are one site, but `Host` has the page's name. Addresses, `localhost` and names without a dot cannot belong to
 * such a page. Requests without `Host` are allowed: HTTP/1.0 may leave it out, but no browser does.
 *
 * @param name one more allowed name
 */
export function requireHost(name: string): RequestHandler {
  return (req, _res, next) => {
    const { host } = req.headers
    if (host !== undefined && !isOurs(host, name))
      throw new HttpError(
        421,
        `Host: ${JSON.stringify(host)} is not a name of this port: ask by address, as localhost, by a name without a dot, or as ADMIN_HOST says`,
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
