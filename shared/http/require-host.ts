import { isIP } from 'node:net'
import type { RequestHandler } from 'express'
import { HttpError } from './http-error.ts'

/** A host, and after it perhaps a port; an address of IPv6 stands in brackets. */
const HOST = /^(?:\[([^\]]*)\]|([^:]*?)\.?)(?::\d+)?$/
/** A name that nobody can register: containers and machines of one network call each other so. */
const LOCAL_NAME = /^[a-z\d_-]+$/i

/**
 * Refuses requests that were sent to a name that is not ours. What a port shows without a key would else be read by any
 * page of the web that a browser on this machine opens, once the page's own name was made to lead here (DNS rebinding):
 * to the browser both are one site, but `Host` still has the page's name. Addresses, `localhost` and names without a dot
 * cannot be such a page's. No browser leaves `Host` out, as HTTP/1.0 may.
 *
 * @param name one more that is ours
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
