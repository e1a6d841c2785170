import type { RequestListener } from 'node:http'

/** Reports, a made-up world's among them, go to the gateway, everything else to the API: two services behind one port. */
export function dispatch(gateway: RequestListener, api: RequestListener): RequestListener {
  return (req, res) => {
    const handle = isReport(req.method, req.url) ? gateway : api
    handle(req, res)
  }
}

/**
 * Whether a request is the gateway's; what stands in front of separate services must send it there.
 *
 * @internal
 */
export const isReport = (method = '', url = ''): boolean =>
  method === 'POST' && /^\/v2\/(?:events(?:\/batch)?|test\/seed)\/?(?:\?|$)/.test(url)
