import type { RequestListener } from 'node:http'

/** Reports go to the gateway, everything else to the API: two services behind one port. */
export function dispatch(gateway: RequestListener, api: RequestListener): RequestListener {
  return (req, res) => {
    const handle = req.method === 'POST' && isReportPath(req.url ?? '') ? gateway : api
    handle(req, res)
  }
}

const isReportPath = (url: string): boolean => /^\/v2\/events(?:\/batch)?\/?(?:\?|$)/.test(url)
