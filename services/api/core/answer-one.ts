import type { Request, RequestHandler, Response } from 'express'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf } from '../../../shared/http/authentication.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'

/**
 * Answers with one resource of the caller's namespace, which the work finds or changes; with 404 when it finds none.
 *
 * @param toBody how the resource is shown
 */
export function answerOne<Params, T>(
  pool: Pool,
  toBody: (resource: T, res: Response) => object,
  work: (db: PoolClient, namespaceId: string, req: Request<Params>, res: Response) => Promise<T | undefined>,
): RequestHandler<Params> {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const resource = await inNamespace(pool, namespaceId, (db) => work(db, namespaceId, req, res))
    if (resource === undefined) throw new DomainError('not_found', 'no such resource')
    res.json(toBody(resource, res))
  }
}
