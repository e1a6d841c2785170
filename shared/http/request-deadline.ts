import type { RequestHandler, Response } from 'express'

/**
 * Answers a request that takes too long. What it began goes on by itself until the databases' own limits end it, and its
 * result is thrown away: of a request that only reads nothing is lost, and of one that writes it is not known how it ends.
 *
 * @param ms counted from when the caller is known and the body is read
 */
export function requestDeadline(ms: number): RequestHandler {
  return (req, res, next) => {
    const late = setTimeout(() => {
      if (res.headersSent) return // it is being answered
      res.locals[ANSWERED_LATE] = true
      res.type('text/plain')
      if (req.method === 'GET') res.status(408).send('request timed out')
      else
        res
          .status(503)
          .set('Retry-After', '1')
          .send('the request took too long, and whether it was done is not known: send it again')
    }, ms)
    res.once('close', () => {
      clearTimeout(late)
    })
    next()
  }
}

const ANSWERED_LATE = 'answeredLate'

/** Whether the deadline answered already, so that whatever the handler still wants to say comes too late. */
export const isAnsweredLate = (res: Response): boolean => res.locals[ANSWERED_LATE] === true
