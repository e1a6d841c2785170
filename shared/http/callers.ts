import type { IncomingMessage } from 'node:http'
import type { Caller } from '../domain/api-key.ts'

const callers = new WeakMap<IncomingMessage, Caller>()

/** Stores the caller of a request for later steps. */
export const noteCaller = (req: IncomingMessage, caller: Caller): void => {
  callers.set(req, caller)
}

/** The caller of a request; undefined before it was looked up. */
export const notedCaller = (req: IncomingMessage): Caller | undefined => callers.get(req)

/** The tenant of a request: companies take turns, and each has its share. */
export const tenantOf = (req: IncomingMessage): string => callers.get(req)?.companyId ?? ''
