import { randomUUID } from 'node:crypto'
import type { RequestHandler, Response } from 'express'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { aheadMsOf } from '../../../shared/http/enter-world.ts'
import { HttpError } from '../../../shared/http/http-error.ts'
import type { Handler } from '../../../shared/http/operations-app.ts'
import { requireTestCompany } from '../../../shared/http/require-test-company.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import type { TestWorlds } from '../../../shared/postgres/test-worlds.ts'
import type { Drain } from '../../../shared/event-log/drain.ts'
import { moveWorld } from './move-world.ts'
import { testClock } from './test-clock.ts'

/**
 * What answers the operations of the test area that move the clock, or begin anew. They move the world: they do not
 * enter it.
 */
export function testAreaHandlers(
  worlds: TestWorlds,
  drain: Drain,
  requestTimeoutMs: number,
): Record<string, Handler> {
  const clock = testClock(worlds)
  return {
    getTestClock: forTests((_req, res) => {
      answerClock(res, aheadMsOf(res))
    }),
    setTestClock: forTests(async (req, res) => {
      const { now } = req.body as { now: number }
      answerClock(res, await clock.set(callerOf(res), now))
    }),
    advanceTestClock: forTests(async (req, res) => {
      const changes = req.body as { seconds: number }
      const attempt = { route: 'POST /v2/test/clock/advance', key: idempotencyKeyOf(req), changes }
      answerClock(res, await clock.advance(callerOf(res), changes.seconds, attempt))
    }),
    resetTestClock: forTests(async (_req, res) => {
      answerClock(res, await clock.reset(callerOf(res)))
    }),
    resetTestCompany: forTests(async (_req, res) => {
      const caller = callerOf(res)
      const resetAt = await moveWorld(worlds, caller, { action: 'company.reset', changes: {} }, (db) =>
        companyRepository(db).replaceNamespace(caller.companyId, randomUUID()),
      )
      res.json({ reset_at: Math.floor(resetAt.getTime() / 1_000) })
    }),
    drainTestCompany: forTests(async (req, res) => {
      const { timeout = DRAIN_S } = (req.body ?? {}) as { timeout?: number }
      // Before the deadline of requests, which would not know that nothing was written.
      const timeoutMs = Math.min(timeout * 1_000, requestTimeoutMs * BEFORE_THE_DEADLINE)
      if (!(await drain(timeoutMs)))
        throw new HttpError(408, 'not all usage that was accepted before is counted yet: ask again')
      res.json({ drained: true })
    }),
  }
}

const DRAIN_S = 10
const BEFORE_THE_DEADLINE = 0.9

function forTests(handle: RequestHandler): Handler {
  return {
    worldAccess: 'look',
    handle: (req, res, next) => {
      requireTestCompany(callerOf(res))
      return handle(req, res, next)
    },
  }
}

function answerClock(res: Response, aheadMs: number): void {
  const realMs = Date.now()
  res.json({ now: Math.floor((realMs + aheadMs) / 1_000), real_now: Math.floor(realMs / 1_000) })
}
