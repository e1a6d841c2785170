import { randomUUID } from 'node:crypto'
import type { Drain } from '../../../shared/event-log/drain.ts'
import { HttpError } from '../../../shared/http/http-error.ts'
import {
  type AnswerOf,
  type Operation,
  operation,
  type OperationId,
  type RequestOf,
} from '../../../shared/http/operation.ts'
import { requireTestCompany } from '../../../shared/http/require-test-company.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import type { TestWorlds } from '../../../shared/postgres/test-worlds.ts'
import { clockToBody } from '../core/body-fields.ts'
import { attemptsOf } from '../core/once.ts'
import { moveWorld } from './move-world.ts'
import { testClock } from './test-clock.ts'

/**
 * The operations of the test area: the clock, the reset and draining. Some of them change the clock or the namespace of
 * the company. Therefore they do not run in the company's world (enter-world.ts).
 */
export function testAreaOperations(worlds: TestWorlds, drain: Drain, requestTimeoutMs: number): Operation[] {
  const clock = testClock(worlds)
  const attemptOf = attemptsOf('advanceTestClock')
  return [
    forTests('getTestClock', ({ aheadMs }) => Promise.resolve(clockToBody(aheadMs))),
    forTests('setTestClock', async ({ caller, body }) => clockToBody(await clock.set(caller, body.now))),
    forTests('advanceTestClock', async (request) => {
      const { caller, body } = request
      return clockToBody(await clock.advance(caller, body.seconds, attemptOf(request)))
    }),
    forTests('resetTestClock', async ({ caller }) => clockToBody(await clock.reset(caller))),
    forTests('resetTestCompany', async ({ caller }) => {
      const resetAt = await moveWorld(worlds, caller, { action: 'company.reset', changes: {} }, (db) =>
        companyRepository(db).replaceNamespace(caller.companyId, randomUUID()),
      )
      return { reset_at: Math.floor(resetAt.getTime() / 1_000) }
    }),
    forTests('drainTestCompany', async ({ body }) => {
      // The wait ends before the request times out. After a timeout, the answer could not say if anything was written.
      const timeout = body?.timeout ?? DRAIN_S
      const timeoutMs = Math.min(timeout * 1_000, requestTimeoutMs * BEFORE_THE_DEADLINE)
      if (!(await drain(timeoutMs)))
        throw new HttpError(
          408,
          'not all usage that was accepted before this request is counted yet: ask again',
        )
      return { drained: true as const }
    }),
  ]
}

const DRAIN_S = 10
const BEFORE_THE_DEADLINE = 0.9

const forTests = <Id extends OperationId>(
  id: Id,
  answer: (request: RequestOf<Id>) => Promise<AnswerOf<Id>>,
): Operation =>
  operation(
    id,
    (request) => {
      requireTestCompany(request.caller)
      return answer(request)
    },
    { worldAccess: 'look' },
  )
