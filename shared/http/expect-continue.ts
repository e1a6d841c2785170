import type { IncomingMessage, ServerResponse } from 'node:http'

interface Waiting {
  res: ServerResponse
  keepsAlive: boolean
}

/** Requests whose clients send the body only after `100 Continue`. */
const waiting = new WeakMap<object, Waiting>()

/**
 * Records that the client of a request waits for `100 Continue` before it sends the body. If the answer is sent without
 * `100 Continue`, the connection is closed, because the next bytes could be the body or another request.
 */
export function noteExpectation(req: IncomingMessage, res: ServerResponse): void {
  waiting.set(req, { res, keepsAlive: res.shouldKeepAlive })
  res.shouldKeepAlive = false
}

/** Sends `100 Continue` if the client of a request waits for it. Called right before a body is read. */
export function askForBody(req: object): void {
  const found = waiting.get(req)
  if (found === undefined || found.res.headersSent) return
  waiting.delete(req)
  found.res.shouldKeepAlive = found.keepsAlive
  found.res.writeContinue()
}

/** Whether the client of a request still waits for `100 Continue` before it sends the body. */
export const isBodyHeldBack = (req: IncomingMessage): boolean => waiting.has(req)
