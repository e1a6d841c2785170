import type { ServerResponse } from 'node:http'

/** A signal that aborts when the client closes the connection before it has the answer, or when the answer is sent. */
export function goneSignal(res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (res.closed) gone.abort() // the event is not emitted again
  res.on('close', () => {
    gone.abort()
  })
  return gone.signal
}
