import type { Request, RequestHandler, Response } from 'express'
import type { AuditedAction } from '../../../shared/domain/audit-entry.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf } from '../../../shared/http/authentication.ts'
import { auditTrailRepository } from '../../../shared/postgres/audit-trail.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { idOf } from './create.ts'

/** A change of one resource. */
export interface Change<Params, T> {
  action: AuditedAction
  /** How the resource is shown. */
  toBody: (resource: T, res: Response) => object
  work: (db: PoolClient, namespaceId: string, req: Request<Params>, res: Response) => Promise<T | undefined>
}

/**
 * Changes one resource of the caller's namespace, records who did, and answers with it; with 404 when there is none.
 * What was asked for stands in the trail, also when it changed nothing.
 */
export const changeOne = <Params, T extends { id: string }>(
  pool: Pool,
  change: Change<Params, T>,
): RequestHandler<Params> => changeNamed(pool, { ...change, idOf })

/** The same for what is named otherwise. */
export function changeNamed<Params, T>(
  pool: Pool,
  { action, toBody, work, idOf }: Change<Params, T> & { idOf: (resource: T) => string },
): RequestHandler<Params> {
  return async (req, res) => {
    const { companyId, keyId, namespaceId } = callerOf(res)
    const change = async (db: PoolClient) => {
      const changed = await work(db, namespaceId, req, res)
      if (changed === undefined) throw new DomainError('not_found', 'no such resource')
      const changes = (req.body as object | undefined) ?? {}
      await auditTrailRepository(db).insert({ companyId, keyId, action, resourceId: idOf(changed), changes })
      return changed
    }
    const rowLock = Object.values(req.params as Record<string, string>).join(' ')
    res.json(toBody(await inNamespace(pool, namespaceId, change, rowLock), res))
  }
}
