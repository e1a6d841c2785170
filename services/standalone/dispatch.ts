import type { RequestListener } from 'node:http'

/**
 * Sends reports, corrections and seeds to the gateway, and everything else to the API: two services behind one port.
 */
export function dispatch(gateway: RequestListener, api: RequestListener): RequestListener {
  return (req, res) => {
    const handle = isForGateway(req.method, req.url) ? gateway : api
    handle(req, res)
  }
}

/**
 * Whether a request is for the gateway. A proxy in front of separate services must use the same rule.
 *
 * @internal
 */
export const isForGateway = (method = '', url = ''): boolean =>
  ((method === 'POST' || method === 'PATCH') && /^\/v2\/events(?:[/?]|$)/.test(url)) ||
  (method === 'POST' && /^\/v2\/test\/seed\/?(?:\?|$)/.test(url)) ||
  (method === 'POST' && url === '/openmeter/api/v1/events')
