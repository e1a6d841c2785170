import type { ServerResponse } from 'node:http'

/** Aborted when the caller goes away before the answer is complete, or once it is answered. */
export function goneSignal(res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (res.closed) gone.abort() // the event does not come again
  res.on('close', () => {
    gone.abort()
  })
  return gone.signal
}
