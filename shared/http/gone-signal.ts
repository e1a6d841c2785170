import type { ServerResponse } from 'node:http'

/** Aborts when the caller goes away before the answer is complete, or once the request is answered. */
export function goneSignal(res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (res.closed) gone.abort() // the event is not emitted again
  res.on('close', () => {
    gone.abort()
  })
  return gone.signal
}
