import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHandler } from 'express'
import { answerText } from './answer-text.ts'

/**
 * Answers a request that takes too long. Its work goes on until the databases' own limits end it, and the result is
 * discarded. For a read nothing is lost; for a write the outcome is not known.
 *
 * @param ms counted from when the caller is known and the body is read
 */
export function requestDeadline(ms: number): RequestHandler {
  return (req, res, next) => {
    startDeadline(req, res, ms)
    next()
  }
}

/** How long a client may take to read an answer, counted from the request's deadline. */
const SEND_MS = 60_000

/**
 * Sets the deadline of a request, counted from now. An answer that is not read in time is given up, because its
 * memory is needed for other requests.
 */
export function startDeadline(req: IncomingMessage, res: ServerResponse, ms: number, sendMs = SEND_MS): void {
  let timer = setTimeout(() => {
    if (req.method !== 'GET') answerUnknown(res, 'the request took too long')
    else if (!res.headersSent) {
      answeredLate.add(res)
      answerText(res, 408, 'request timed out')
    }
    timer = setTimeout(() => {
      res.destroy()
    }, sendMs)
  }, ms)
  res.once('close', () => {
    clearTimeout(timer)
  })
}

/**
 * Answers a request whose outcome is not known, unless its answer has begun. The later answer of the handler is
 * ignored.
 */
export function answerUnknown(res: ServerResponse, reason: string): void {
  if (res.headersSent) return
  answeredLate.add(res)
  res.setHeader('Retry-After', '1')
  answerText(res, 503, `${reason}, and whether the request was done is not known: send it again`)
}

const answeredLate = new WeakSet<ServerResponse>()

/** Whether the deadline answered already, so that the handler's answer comes too late. */
export const isAnsweredLate = (res: ServerResponse): boolean => answeredLate.has(res)

/** Whether a client still waits for the answer to a request: it has not gone, and has no answer yet. */
export const isAwaited = (req: IncomingMessage, res: ServerResponse): boolean =>
  !req.socket.destroyed && !res.headersSent
