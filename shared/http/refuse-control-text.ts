import type { RequestHandler } from 'express'
import { HttpError } from './http-error.ts'

/** No body of the contract is as deep as this. The free-form properties of usage events have a limit of their own. */
const DEPTH_MAX = 32

/**
 * Refuses text that PostgreSQL cannot store or that UTF-8 cannot represent: a NUL character, or half of a surrogate
 * pair.
 *
 * @param withBody whether to check the body, too. It is false in the gateway, whose handlers check the body themselves
 */
export function refuseControlText(withBody: boolean): RequestHandler {
  return (req, _res, next) => {
    requireText(req.params, 'path', 0)
    requireText(req.query, 'query', 0)
    if (withBody) requireText(req.body, 'body', 0)
    next()
  }
}

function requireText(value: unknown, label: string, depth: number): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw new HttpError(400, `${label}: holds a NUL character`)
    if (!value.isWellFormed()) throw new HttpError(400, `${label}: holds half of a surrogate pair`)
  } else if (typeof value === 'object' && value !== null && depth < DEPTH_MAX) {
    for (const [name, inner] of Object.entries(value)) requireText(inner, name, depth + 1)
  }
}
