import type { Request, RequestHandler } from 'express'
import { newId } from '../../../shared/domain/ids.ts'
import type { Aggregation } from '../../../shared/domain/usage-aggregate.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { nowOf } from '../../../shared/http/enter-world.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import {
  accountRepository,
  type AccountChanges,
  type AccountSort,
} from '../../../shared/postgres/accounts.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import type { AccountUsageIn } from '../account-usage.ts'
import type { BalanceAt } from '../balance-at.ts'
import { idOf, type Create } from '../create.ts'
import { getAccount } from '../get-account.ts'
import { answerOne } from './answer-one.ts'
import { accountToBody, balanceToBody, pageToBody } from './bodies.ts'
import { changeOne } from './change-one.ts'
import { pageOfQuery } from './page-query.ts'

interface NewAccountBody {
  name: string
  description?: string
  external_id?: string
  service_customer_id?: string
}

export function postAccount(create: Create): RequestHandler {
  return async (req, res) => {
    const body = req.body as NewAccountBody
    const account = await create(
      callerOf(res),
      {
        route: 'POST /v2/accounts',
        key: idempotencyKeyOf(req),
        action: 'account.created',
        changes: body,
        idOf,
      },
      (db, namespaceId) =>
        accountRepository(db).insert(namespaceId, {
          id: newId('account'),
          name: body.name,
          description: body.description ?? null,
          externalId: body.external_id ?? null,
          customerId: body.service_customer_id?.toLowerCase() ?? null,
        }),
    )
    res.json(accountToBody(account))
  }
}

export function listAccounts(pool: Pool): RequestHandler {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const sort = req.query['sort'] as AccountSort
    const page = await inNamespace(pool, namespaceId, (db) =>
      accountRepository(db).list(namespaceId, sort, pageOfQuery(req)),
    )
    res.json(pageToBody(page, accountToBody))
  }
}

type OfAccount = Request<{ account_id: string }>

export function getAccountById(
  findAccount: BatchedReads['findAccount'],
): RequestHandler<{ account_id: string }> {
  return async (req, res) => {
    const key = { namespaceId: callerOf(res).namespaceId, accountId: req.params.account_id }
    res.json(accountToBody(await getAccount(findAccount, key)))
  }
}

export const getAccountByExternalId = (pool: Pool) =>
  answerOne(pool, accountToBody, (db, namespaceId, { params }: Request<{ external_id: string }>) =>
    accountRepository(db).findByExternalId(namespaceId, params.external_id),
  )

export const patchAccount = (pool: Pool) =>
  changeOne(pool, {
    action: 'account.changed',
    toBody: accountToBody,
    work: (db, namespaceId, { params, body }: OfAccount) =>
      accountRepository(db).update(namespaceId, params.account_id, changesOf(body as AccountChangesBody)),
  })

interface AccountChangesBody {
  name?: string
  description?: string | null
  external_id?: string | null
  service_customer_id?: string | null
}

const changesOf = (body: AccountChangesBody): AccountChanges => ({
  name: body.name,
  description: body.description,
  externalId: body.external_id,
  customerId: body.service_customer_id,
})

export const archiveAccount = (pool: Pool) =>
  changeOne(pool, {
    action: 'account.archived',
    toBody: accountToBody,
    work: (db, namespaceId, { params }: OfAccount) =>
      accountRepository(db).archive(namespaceId, params.account_id),
  })

export const unarchiveAccount = (pool: Pool) =>
  changeOne(pool, {
    action: 'account.unarchived',
    toBody: accountToBody,
    work: (db, namespaceId, { params }: OfAccount) =>
      accountRepository(db).unarchive(namespaceId, params.account_id),
  })

interface UsageQuery {
  start_at: number
  end_at: number
  aggregation: Aggregation
  currency?: string
}

export function getAccountUsage(usageIn: AccountUsageIn): RequestHandler<{ account_id: string }> {
  return async (req, res) => {
    // The validator has turned numbers into numbers and filled in defaults.
    const query = req.query as unknown as UsageQuery
    const { account, consumed } = await usageIn(callerOf(res).namespaceId, req.params.account_id, {
      range: { startAt: query.start_at, endAt: query.end_at },
      aggregation: query.aggregation,
      currency: query.currency?.toLowerCase(),
    })
    res.json({
      account: accountToBody(account),
      events_consumed: consumed.map(({ source, metric, quantity }) => ({
        ...sourceToBody(source),
        metric_name: metric?.name ?? null,
        measurement_units: metric?.measurementUnits ?? null,
        quantity,
      })),
    })
  }
}

export function getAccountBalance(balanceAt: BalanceAt): RequestHandler<{ account_id: string }> {
  return async (req, res) => {
    const { metric_id: metricId, currency } = req.query as { metric_id?: string; currency?: string }
    if ((metricId === undefined) === (currency === undefined))
      throw new DomainError('malformed', 'metric_id, currency: exactly one of them is required')
    const source = metricId ?? currency?.toLowerCase() ?? ''
    const balance = await balanceAt(callerOf(res).namespaceId, req.params.account_id, source, nowOf(res))
    res.json(balanceToBody(balance))
  }
}
