import type { RequestHandler } from 'express'
import type { Handler, LongWork } from '../../../shared/http/operations-app.ts'

/** Express types a handler by its path's parameters; a map of handlers knows them all as text. */
export const handlerOf = <Params>(handle: RequestHandler<Params>): Handler => ({
  handle: handle as unknown as RequestHandler,
})

/** The same, for what goes through much: see Handler. */
export const longHandlerOf = <Params>(work: LongWork, handle: RequestHandler<Params>): Handler => ({
  ...handlerOf(handle),
  isLong: work,
})
