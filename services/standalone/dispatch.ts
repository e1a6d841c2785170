import type { RequestListener } from 'node:http'

/** Reports, corrections and seed data go to the gateway, everything else to the API: two services behind one port. */
export function dispatch(gateway: RequestListener, api: RequestListener): RequestListener {
  return (req, res) => {
    const handle = isForGateway(req.method, req.url) ? gateway : api
    handle(req, res)
  }
}

/**
 * Whether a request is the gateway's; what stands in front of separate services must send it there.
 *
 * @internal
 */
export const isForGateway = (method = '', url = ''): boolean =>
  ((method === 'POST' || method === 'PATCH') && /^\/v2\/events(?:[/?]|$)/.test(url)) ||
  (method === 'POST' && /^\/v2\/test\/seed\/?(?:\?|$)/.test(url))
