import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHandler } from 'express'
import { answerText } from './answer-text.ts'

/**
 * Answers a request that takes too long. Its work goes on until the time limits of the databases end it, and the result
 * is discarded. For a read, nothing is lost. For a write, the outcome is not known.
 *
 * @param ms the time limit, counted from the call of this handler: after the caller was found and the body was read
 */
export function requestDeadline(ms: number): RequestHandler {
  return (req, res, next) => {
    startDeadline(req, res, ms)
    next()
  }
}

/** The longest time that a client may take to read an answer, counted from the request's deadline. */
const SEND_MS = 60_000

/**
 * Sets the deadline of a request, counted from now. If the client does not read its answer in time, the connection is
 * closed, because the memory of the answer is needed for other requests.
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
 * Tells the client that the outcome of its request is not known, unless an answer has begun. The later answer of the
 * handler is ignored.
 */
export function answerUnknown(res: ServerResponse, reason: string): void {
  if (res.headersSent) return
  answeredLate.add(res)
  res.setHeader('Retry-After', '1')
  answerText(res, 503, `${reason}, and whether the request was done is not known: send it again`)
}

const answeredLate = new WeakSet<ServerResponse>()

/** Whether startDeadline or answerUnknown has answered already, so that the handler's answer comes too late. */
export const isAnsweredLate = (res: ServerResponse): boolean => answeredLate.has(res)

/** Whether a client still waits for the answer to a request: the connection is open, and no answer has begun. */
export const isAwaited = (req: IncomingMessage, res: ServerResponse): boolean =>
  !req.socket.destroyed && !res.headersSent
