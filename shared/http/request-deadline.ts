import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHandler } from 'express'
import { answerText } from './answer-text.ts'

/**
 * Answers a request that takes too long. What it began goes on by itself until the databases' own limits end it, and
 * its result is thrown away: of a request that only reads nothing is lost, and of one that writes it is not known how
 * it ends.
 *
 * @param ms counted from when the caller is known and the body is read
 */
export function requestDeadline(ms: number): RequestHandler {
  return (req, res, next) => {
    startDeadline(req, res, ms)
    next()
  }
}

/** How long a client may take to read an answer, from when it had to be there at the latest. */
const SEND_MS = 60_000

/** The same, from now on. An answer that is not read for long is given up: what it takes of memory is others' too. */
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
 * Answers a request whose end cannot be told, unless it is being answered; what its handler says comes too late then.
 */
export function answerUnknown(res: ServerResponse, reason: string): void {
  if (res.headersSent) return
  answeredLate.add(res)
  res.setHeader('Retry-After', '1')
  answerText(res, 503, `${reason}, and whether the request was done is not known: send it again`)
}

const answeredLate = new WeakSet<ServerResponse>()

/** Whether the deadline answered already, so that whatever the handler still wants to say comes too late. */
export const isAnsweredLate = (res: ServerResponse): boolean => answeredLate.has(res)

/** Whether a client still waits for the answer to a request: it has not gone, and was told nothing. */
export const isAwaited = (req: IncomingMessage, res: ServerResponse): boolean =>
  !req.socket.destroyed && !res.headersSent
