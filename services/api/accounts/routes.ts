import type { Request, RequestHandler } from 'express'
import { newId } from '../../../shared/domain/ids.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import {
  accountRepository,
  type AccountChanges,
  type AccountSort,
} from '../../../shared/postgres/accounts.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { idOf, type Create } from '../core/create.ts'
import { getAccount } from './get-account.ts'
import { answerOne } from '../core/answer-one.ts'
import { pageToBody } from '../core/body-fields.ts'
import { accountToBody } from './body.ts'
import { changeOne } from '../core/change-one.ts'
import { pageOfQuery } from '../core/page-query.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf } from '../core/handler-of.ts'

/** Accounts: what usage is reported against. */
export const accountHandlers = (pool: Pool, create: Create, { findAccount }: BatchedReads): Handlers => ({
  createAccount: handlerOf(postAccount(create)),
  listAccounts: handlerOf(listAccounts(pool)),
  getAccount: handlerOf(getAccountById(findAccount)),
  getAccountByExternalId: handlerOf(getAccountByExternalId(pool)),
  updateAccount: handlerOf(patchAccount(pool)),
  archiveAccount: handlerOf(archiveAccount(pool)),
  unarchiveAccount: handlerOf(unarchiveAccount(pool)),
})

interface NewAccountBody {
  name: string
  description?: string
  external_id?: string
  service_customer_id?: string
}

function postAccount(create: Create): RequestHandler {
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

function listAccounts(pool: Pool): RequestHandler {
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

function getAccountById(findAccount: BatchedReads['findAccount']): RequestHandler<{ account_id: string }> {
  return async (req, res) => {
    const key = { namespaceId: callerOf(res).namespaceId, accountId: req.params.account_id }
    res.json(accountToBody(await getAccount(findAccount, key)))
  }
}

const getAccountByExternalId = (pool: Pool) =>
  answerOne(pool, accountToBody, (db, namespaceId, { params }: Request<{ external_id: string }>) =>
    accountRepository(db).findByExternalId(namespaceId, params.external_id),
  )

const patchAccount = (pool: Pool) =>
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

const archiveAccount = (pool: Pool) =>
  changeOne(pool, {
    action: 'account.archived',
    toBody: accountToBody,
    work: (db, namespaceId, { params }: OfAccount) =>
      accountRepository(db).archive(namespaceId, params.account_id),
  })

const unarchiveAccount = (pool: Pool) =>
  changeOne(pool, {
    action: 'account.unarchived',
    toBody: accountToBody,
    work: (db, namespaceId, { params }: OfAccount) =>
      accountRepository(db).unarchive(namespaceId, params.account_id),
  })
