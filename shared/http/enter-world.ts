import type { ServerResponse } from 'node:http'
import type { RequestHandler, Response } from 'express'
import type { Caller } from '../domain/api-key.ts'
import type { TestWorlds, World } from '../postgres/test-worlds.ts'
import { callerOf } from './authentication.ts'
import { answerUnknown } from './request-deadline.ts'

/** How a request looks at the world of its company: whether that must stay as it is until the request is answered. */
export type WorldAccess = 'look' | 'enter'

/**
 * Finds where the company of a caller is at the moment, right before the handler: a test company may have got another
 * namespace since its key was looked up, and its clock may have been moved. Live companies are where they always were.
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
 * Enters the world of a test company until the request is answered: who moves it answers after that, so no answer
 * speaks of a world that is gone. When that can no longer be relied on, the answer is that nothing is known.
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

/** How far the clock of the caller's namespace runs ahead of real time. */
export const aheadMsOf = (res: Response): number => (res.locals['aheadMs'] as number | undefined) ?? 0

/** Where an app has the clock that its answers go by. */
export const CLOCK = 'nowMs'

/** What time it is for the caller: its namespace's now. */
export const nowOf = (res: Response): Date => {
  const nowMs = (res.app.locals[CLOCK] as (() => number) | undefined) ?? Date.now
  return new Date(nowMs() + aheadMsOf(res))
}
