import type { IncomingMessage, ServerResponse } from 'node:http'

interface Waiting {
  res: ServerResponse
  keepsAlive: boolean
}

/** Requests whose clients send the body once they are told to go on. */
const waiting = new WeakMap<object, Waiting>()

/**
 * Notes that the client of a request waits for `100 Continue` before it sends the body. An answer that comes without it
 * closes the connection: whether the body or another request would come next on it cannot be known.
 */
export function noteExpectation(req: IncomingMessage, res: ServerResponse): void {
  waiting.set(req, { res, keepsAlive: res.shouldKeepAlive })
  res.shouldKeepAlive = false
}

/** Tells the client of a request to send the body, if it waits for that. Called right before a body is read. */
export function askForBody(req: object): void {
  const found = waiting.get(req)
  if (found === undefined || found.res.headersSent) return
  waiting.delete(req)
  found.res.shouldKeepAlive = found.keepsAlive
  found.res.writeContinue()
}

/** Whether the client of a request still waits to be told to send the body. */
export const isBodyHeldBack = (req: IncomingMessage): boolean => waiting.has(req)
