import type { IncomingMessage } from 'node:http'
import type { Caller } from '../domain/api-key.ts'

const callers = new WeakMap<IncomingMessage, Caller>()

/** Stores the caller of a request for later steps. */
export const noteCaller = (req: IncomingMessage, caller: Caller): void => {
  callers.set(req, caller)
}

/** The caller of a request; undefined if the caller was not looked up yet. */
export const notedCaller = (req: IncomingMessage): Caller | undefined => callers.get(req)

/** The tenant of a request, which is its company: companies take turns, and each has a share of limited resources. */
export const tenantOf = (req: IncomingMessage): string => callers.get(req)?.companyId ?? ''
