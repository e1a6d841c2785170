import type { Request, RequestHandler, Response } from 'express'
import type { AuditedAction } from '../../../shared/domain/audit-entry.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { aheadMsOf, nowOf } from '../../../shared/http/enter-world.ts'
import { readClock } from '../../../shared/postgres/core/clock.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { secondsOf } from './body-fields.ts'
import { idOf, type Create } from './create.ts'
import { nowIn } from './now-in.ts'
import { routeOf } from './route-of.ts'

/** A change of one resource that a request makes once, however often it is sent with its Idempotency-Key. */
interface OnceChange<Params, T> {
  /** Method and path, as openapi.yaml has it. */
  route: string
  action: AuditedAction
  /** How the resource is shown. @param at what time it is, in Unix seconds: no earlier than the change */
  toBody: (resource: T, at: number) => object
  /** @param now see changeTime: to be asked once whatever the change waits for is locked */
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
    let changedAt = 0
    const changed = await create(
      callerOf(res),
      {
        route: routeOf(route, req.params as object),
        formerRoute: route,
        key: idempotencyKeyOf(req),
        action,
        changes,
        idOf,
      },
      async (db, namespaceId) => {
        const resource = await work(db, namespaceId, req, async () => (changedAt = await changeTime(db, res)))
        if (resource === undefined) throw new DomainError('not_found', 'no such resource')
        return resource
      },
    )
    res.json(toBody(changed, Math.max(nowIn(res), changedAt)))
  }
}

/**
 * What time a change bears: for the caller, in Unix seconds, by this process and by the database, whichever is later.
 * Why by the database, too: what was known up to a second is told by its clock, and a change that came later must not
 * bear that second because the clock of this host is behind. And why now, not when the request came: it may have waited
 * for others, who saw agreements as they were.
 */
export async function changeTime(db: PoolClient, res: Response): Promise<number> {
  const byDatabase = (await readClock(db)).getTime() + aheadMsOf(res)
  return secondsOf(new Date(Math.max(nowOf(res).getTime(), byDatabase)))
}
