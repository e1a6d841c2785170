import type { Request, RequestHandler, Response } from 'express'
import type { AuditedAction } from '../../../shared/domain/audit-entry.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { aheadMsOf, nowOf } from '../../../shared/http/enter-world.ts'
import { readClock } from '../../../shared/postgres/core/clock.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { secondsOf } from './body-fields.ts'
import { idOf, type Create } from './create.ts'

/** A change of one resource that a request makes once, however often it is sent with its Idempotency-Key. */
interface OnceChange<Params, T> {
  /** As the trail of keys knows it. */
  route: string
  action: AuditedAction
  /** How the resource is shown. */
  toBody: (resource: T, res: Response) => object
  /** @param now what time it is then for the caller, in Unix seconds: by this process and by the database, whichever is later */
  work: (
    db: PoolClient,
    namespaceId: string,
    req: Request<Params>,
    now: () => Promise<number>,
  ) => Promise<T | undefined>
}

/** The same as changeOne, once for each Idempotency-Key. */
export function changeOnce<Params, T extends { id: string }>(
  create: Create,
  { route, action, toBody, work }: OnceChange<Params, T>,
): RequestHandler<Params> {
  return async (req, res) => {
    const changes = (req.body as object | undefined) ?? {}
    const changed = await create(
      callerOf(res),
      { route, key: idempotencyKeyOf(req), action, changes, idOf },
      async (db, namespaceId) => {
        const resource = await work(db, namespaceId, req, () => changeTime(db, res))
        if (resource === undefined) throw new DomainError('not_found', 'no such resource')
        return resource
      },
    )
    res.json(toBody(changed, res))
  }
}

/**
 * Why by the database, too: what was known up to a second is told by its clock, and a change that came later must not bear that second
 * because the clock of this host is behind.
 */
async function changeTime(db: PoolClient, res: Response): Promise<number> {
  const byDatabase = (await readClock(db)).getTime() + aheadMsOf(res)
  return secondsOf(new Date(Math.max(nowOf(res).getTime(), byDatabase)))
}
