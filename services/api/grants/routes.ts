import type { Request, RequestHandler, Response } from 'express'
import { parseAmount } from '../../../shared/amount/amount.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { isMetric } from '../../../shared/domain/usage-source.ts'
import type { Grant } from '../../../shared/domain/grant.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { nowOf } from '../../../shared/http/enter-world.ts'
import { grantRepository, type GrantFilter, type NewGrant } from '../../../shared/postgres/grants.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { requestRefill } from '../../../shared/postgres/refill-requests.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { idOf, type Create } from '../core/create.ts'
import { answerOne } from '../core/answer-one.ts'
import { pageToBody } from '../core/body-fields.ts'
import { grantToBody } from './body.ts'
import { changeOne } from '../core/change-one.ts'
import { pageOfQuery } from '../core/page-query.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf } from '../core/handler-of.ts'

/** Grants: credit of accounts. */
export const grantHandlers = (pool: Pool, create: Create): Handlers => ({
  createGrant: handlerOf(postGrant(create)),
  listGrants: handlerOf(listGrants(pool)),
  getGrant: handlerOf(getGrant(pool)),
  voidGrant: handlerOf(voidGrant(pool)),
  archiveGrant: handlerOf(archiveGrant(pool)),
})

interface NewGrantBody {
  account_id: string
  metric_id?: string
  currency?: string
  amount: string
  effective_at: number
  expires_at?: number
  description?: string
  contract_v1_id?: string
}

function postGrant(create: Create): RequestHandler {
  return async (req, res) => {
    const grant = newGrantOf(req.body as NewGrantBody)
    const made = await create(
      callerOf(res),
      {
        route: 'POST /v2/grants',
        key: idempotencyKeyOf(req),
        action: 'grant.created',
        changes: req.body as object,
        idOf,
      },
      async (db, namespaceId) => {
        const inserted = await grantRepository(db).insert(namespaceId, grant)
        await requestRefillOf(db, namespaceId, inserted)
        return inserted
      },
    )
    res.json(grantToBody(made, nowOf(res)))
  }
}

/** @throws DomainError unprocessable when it names no source or two, or ends before it starts */
function newGrantOf(body: NewGrantBody): NewGrant {
  const { metric_id: metricId, currency, effective_at: effectiveAt, expires_at: expiresAt } = body
  if ((metricId === undefined) === (currency === undefined))
    throw new DomainError('unprocessable', 'metric_id, currency: exactly one of them is required')
  if (expiresAt !== undefined && expiresAt <= effectiveAt)
    throw new DomainError('unprocessable', 'expires_at: must be after effective_at')
  return {
    id: newId('grant'),
    accountId: body.account_id,
    source: metricId ?? currency?.toLowerCase() ?? '',
    amount: parseAmount(body.amount),
    description: body.description ?? null,
    contractId: body.contract_v1_id ?? null,
    effectiveAt: new Date(effectiveAt * 1_000),
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt * 1_000),
  }
}

function listGrants(pool: Pool): RequestHandler {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const filter = filterOf(req.query)
    const page = await inNamespace(pool, namespaceId, (db) =>
      grantRepository(db).list(namespaceId, filter, pageOfQuery(req)),
    )
    const now = nowOf(res)
    res.json(pageToBody(page, (grant) => grantToBody(grant, now)))
  }
}

interface GrantQuery {
  account_id?: string
  metric_id?: string
  currency?: string
  contract_v1_id?: string
}

/** @throws DomainError malformed when it asks for a metric and a currency: no grant has both, so it is a slip */
function filterOf(query: GrantQuery): GrantFilter {
  const { account_id: accountId, metric_id: metricId, currency, contract_v1_id: contractId } = query
  if (metricId !== undefined && currency !== undefined)
    throw new DomainError('malformed', 'metric_id, currency: at most one of them can be asked for')
  return { accountId, source: metricId ?? currency?.toLowerCase(), contractId }
}

type OfGrant = Request<{ grant_id: string }>
const bodyOfNow = (grant: Grant, res: Response) => grantToBody(grant, nowOf(res))

const getGrant = (pool: Pool) =>
  answerOne(pool, bodyOfNow, (db, namespaceId, { params }: OfGrant) =>
    grantRepository(db).find(namespaceId, params.grant_id),
  )

const voidGrant = (pool: Pool) =>
  changeOne(pool, {
    action: 'grant.voided',
    toBody: bodyOfNow,
    work: async (db, namespaceId, { params }: OfGrant) =>
      requestRefillOf(db, namespaceId, await grantRepository(db).void(namespaceId, params.grant_id)),
  })

const archiveGrant = (pool: Pool) =>
  changeOne(pool, {
    action: 'grant.archived',
    toBody: bodyOfNow,
    work: async (db, namespaceId, { params }: OfGrant) =>
      requestRefillOf(db, namespaceId, await grantRepository(db).archive(namespaceId, params.grant_id)),
  })

/** The balance that the grant is part of may be lower now. @returns the grant */
async function requestRefillOf<T extends Grant | undefined>(
  db: PoolClient,
  namespaceId: string,
  grant: T,
): Promise<T> {
  if (grant !== undefined && isMetric(grant.source))
    await requestRefill(db, { namespaceId, accountId: grant.accountId, metricId: grant.source })
  return grant
}
