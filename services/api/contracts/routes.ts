import type { Request, RequestHandler, Response } from 'express'
import type { CancelRequest } from '../../../shared/domain/billing/contract-status.ts'
import type { StoredContract } from '../../../shared/domain/billing/stored-contract.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { contractLineRepository } from '../../../shared/postgres/contract-lines.ts'
import {
  contractRepository,
  type ContractChanges,
  type ContractFilter,
} from '../../../shared/postgres/contracts.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import type { AuditedAction } from '../../../shared/domain/audit-entry.ts'
import { answerOne } from '../core/answer-one.ts'
import { pageToBody } from '../core/body-fields.ts'
import { changeOne } from '../core/change-one.ts'
import { changeOnce, changeTime } from '../core/change-once.ts'
import { nowIn } from '../core/now-in.ts'
import { idOf, type Create } from '../core/create.ts'
import { handlerOf } from '../core/handler-of.ts'
import { pageOfQuery } from '../core/page-query.ts'
import { contractToBody, lineToBody, recordToBody } from './body.ts'
import { cancelContract, changeLines, changeTerms, uncancelContract } from './change-contract.ts'
import { makeContract, type NewContractBody } from './make-contract.ts'
import type { LineChangesBody } from './line-changes.ts'

/** Contracts: what accounts have agreed to. */
export const contractHandlers = (pool: Pool, create: Create): Handlers => ({
  createContract: handlerOf(postContract(create)),
  listContracts: handlerOf(listContracts(pool)),
  getContract: handlerOf(getContract(pool)),
  updateContract: handlerOf(patchContract(pool)),
  listContractLines: handlerOf(listLines(pool)),
  changeContract: handlerOf(postChanges(create)),
  cancelContract: handlerOf(postCancel(create)),
  uncancelContract: handlerOf(postUncancel(create)),
})

const bodyOfNow = (contract: StoredContract, res: Response) => contractToBody(contract, nowIn(res))

function postContract(create: Create): RequestHandler {
  return async (req, res) => {
    const body = req.body as NewContractBody
    const made = await create(
      callerOf(res),
      {
        route: 'POST /v2/contracts',
        key: idempotencyKeyOf(req),
        action: 'contract.created',
        changes: body,
        idOf,
      },
      (db, namespaceId) => makeContract(db, namespaceId, body, nowIn(res)),
    )
    res.json(bodyOfNow(made, res))
  }
}

interface ContractQuery {
  account_id?: string
  rate_card_id?: string
  external_id?: string
}

function listContracts(pool: Pool): RequestHandler {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const page = await inNamespace(pool, namespaceId, (db) =>
      contractRepository(db).listRecords(namespaceId, filterOf(req.query), pageOfQuery(req)),
    )
    const now = nowIn(res)
    res.json(pageToBody(page, (contract) => recordToBody(contract, now)))
  }
}

const filterOf = (query: ContractQuery): ContractFilter => ({
  accountId: query.account_id,
  rateCardId: query.rate_card_id,
  externalId: query.external_id,
})

type OfContract = Request<{ contract_id: string }>

const getContract = (pool: Pool) =>
  answerOne(pool, bodyOfNow, (db, namespaceId, { params }: OfContract) =>
    contractRepository(db).find(namespaceId, params.contract_id),
  )

interface ContractChangesBody {
  name?: string | null
  description?: string | null
  external_id?: string | null
  ends_at?: number | null
}

const patchContract = (pool: Pool): RequestHandler<OfContract['params']> =>
  changeOne(pool, {
    action: 'contract.changed',
    toBody: bodyOfNow,
    work: (db, namespaceId, { params, body }: OfContract, res) =>
      changeTerms(db, namespaceId, params.contract_id, changesOf(body as ContractChangesBody), () =>
        changeTime(db, res),
      ),
  })

const changesOf = (body: ContractChangesBody): ContractChanges => ({
  name: body.name,
  description: body.description,
  externalId: body.external_id,
  endsAt: body.ends_at,
})

function listLines(pool: Pool): RequestHandler<OfContract['params']> {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const page = await inNamespace(pool, namespaceId, async (db) => {
      const contract = await contractRepository(db).findRecord(namespaceId, req.params.contract_id)
      if (contract === undefined) throw noSuchContract()
      return contractLineRepository(db).list(namespaceId, contract.id, pageOfQuery(req))
    })
    res.json(pageToBody(page, lineToBody))
  }
}

const postChanges = (create: Create) =>
  changeContractOnce(create, 'changes', 'contract.changed', (db, namespaceId, { params, body }, now) =>
    changeLines(db, namespaceId, params.contract_id, body as LineChangesBody, now),
  )

interface CancelBody {
  mode: CancelRequest['mode']
  cancel_at?: number
  reason?: string
}

const postCancel = (create: Create) =>
  changeContractOnce(create, 'cancel', 'contract.canceled', (db, namespaceId, { params, body }, now) => {
    const { reason = null, ...request } = body as CancelBody
    return cancelContract(db, namespaceId, params.contract_id, cancelRequestOf(request), reason, now)
  })

/** @throws DomainError unprocessable unless it names a time exactly when the mode asks for one */
function cancelRequestOf({ mode, cancel_at: cancelAt }: CancelBody): CancelRequest {
  if (mode !== 'at') {
    if (cancelAt === undefined) return { mode }
    throw new DomainError('unprocessable', `cancel_at: goes with the mode at alone, not with ${mode}`)
  }
  if (cancelAt === undefined) throw new DomainError('unprocessable', 'cancel_at: is required by the mode at')
  return { mode, cancelAt }
}

const postUncancel = (create: Create) =>
  changeContractOnce(create, 'uncancel', 'contract.uncanceled', (db, namespaceId, { params }, now) =>
    uncancelContract(db, namespaceId, params.contract_id, now),
  )

/** @param work see changeOnce */
const changeContractOnce = (
  create: Create,
  verb: string,
  action: AuditedAction,
  work: (
    db: PoolClient,
    namespaceId: string,
    req: OfContract,
    now: () => Promise<number>,
  ) => Promise<StoredContract | undefined>,
) =>
  changeOnce(create, {
    route: `POST /v2/contracts/{contract_id}/${verb}`,
    action,
    toBody: contractToBody,
    work,
  })

const noSuchContract = (): DomainError => new DomainError('not_found', 'no such contract')
