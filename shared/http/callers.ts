import type { IncomingMessage } from 'node:http'
import type { Caller } from '../domain/api-key.ts'

const callers = new WeakMap<IncomingMessage, Caller>()

/** Notes who makes a request, for the steps that come after. */
export const noteCaller = (req: IncomingMessage, caller: Caller): void => {
  callers.set(req, caller)
}

/** Who makes a request; undefined while nobody has looked. */
export const notedCaller = (req: IncomingMessage): Caller | undefined => callers.get(req)

/** Who shares what requests wait for or take, where companies have their turn and their part of it. */
export const tenantOf = (req: IncomingMessage): string => callers.get(req)?.companyId ?? ''
