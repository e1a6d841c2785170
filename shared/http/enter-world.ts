import type { ServerResponse } from 'node:http'
import type { RequestHandler, Response } from 'express'
import type { Caller } from '../domain/api-key.ts'
import type { TestWorlds, World } from '../postgres/test-worlds.ts'
import { callerOf } from './authentication.ts'
import { answerUnknown } from './request-deadline.ts'

/**
 * How a request uses the world (namespace and clock) of its company. `look` only reads the world. `enter` also keeps
 * the world unchanged until the request is answered.
 */
export type WorldAccess = 'look' | 'enter'

/**
 * Finds the current world of the caller's company, right before the handler runs. A test company may have got another
 * namespace since the key was looked up, and somebody may have changed its clock. The world of a live company never
 * changes.
 */
export function enterWorld(worlds: TestWorlds, worldAccess: WorldAccess): RequestHandler {
  return async (_req, res, next) => {
    const caller = callerOf(res)
    if (caller.mode === 'test') {
      const { companyId } = caller
      const world =
        worldAccess === 'look' ? await worlds.look(companyId) : await enterUntilAnswered(worlds, caller, res)
      res.locals['caller'] = { ...caller, namespaceId: world.namespaceId } satisfies Caller
      res.locals['aheadMs'] = world.aheadMs
    }
    next()
  }
}

/**
 * Enters the world of a test company until the request is answered. A request that changes the world waits until then,
 * so no answer describes a former world. If the lease is lost, the answer says that the outcome is not known.
 */
export async function enterUntilAnswered(
  worlds: TestWorlds,
  { companyId }: Caller,
  res: ServerResponse,
): Promise<World> {
  const lease = await worlds.enter(companyId, () => {
    answerUnknown(res, 'PostgreSQL cannot be reached')
  })
  if (res.closed) lease.leave()
  else res.once('close', lease.leave)
  return lease
}

/** The milliseconds by which the clock of the caller's namespace is ahead of real time. */
export const aheadMsOf = (res: Response): number => (res.locals['aheadMs'] as number | undefined) ?? 0

/** The key under which an app stores the clock of its answers. */
export const CLOCK = 'nowMs'

/** The caller's current time: the time in its namespace. */
export const nowOf = (res: Response): Date => {
  const nowMs = (res.app.locals[CLOCK] as (() => number) | undefined) ?? Date.now
  return new Date(nowMs() + aheadMsOf(res))
}
