import type { CancelRequest } from '../../../shared/domain/billing/contract-status.ts'
import type { ContractRecord, StoredContract } from '../../../shared/domain/billing/stored-contract.ts'
import type { Page } from '../../../shared/domain/page.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { Operation, OperationId, RequestOf } from '../../../shared/http/operation.ts'
import { contractLineRepository } from '../../../shared/postgres/contract-lines.ts'
import { contractRepository } from '../../../shared/postgres/contracts.ts'
import { pageOf, pageToBody, secondsOf } from '../core/body-fields.ts'
import { changeTime } from '../core/change-time.ts'
import type { NamespaceOperations, Work } from '../core/namespace-operations.ts'
import { pageIn } from '../core/page-query.ts'
import { contractToBody, lineToBody, recordToBody } from './body.ts'
import { cancelContract, changeLines, changeTerms, uncancelContract } from './change-contract.ts'
import { makeContract } from './make-contract.ts'

/** Operations on contracts, the agreements of accounts. */
export const contractOperations = ({ read, change, once }: NamespaceOperations): Operation[] => [
  once('createContract', { action: 'contract.created', toBody }, ({ db, namespaceId, body, now }) =>
    makeContract(db, namespaceId, body, now),
  ),
  read(
    'listContracts',
    (page: Page<ContractRecord>, { now }) => pageToBody(page, (contract) => recordToBody(contract, now)),
    ({ db, namespaceId, query }) => {
      const { account_id: accountId, rate_card_id: rateCardId, external_id: externalId } = query
      return contractRepository(db).listRecords(
        namespaceId,
        { accountId, rateCardId, externalId },
        pageIn(query),
      )
    },
  ),
  read('getContract', toBody, ({ db, namespaceId, params }) =>
    contractRepository(db).find(namespaceId, params.contract_id),
  ),
  change('updateContract', { action: 'contract.changed', toBody }, (work) => {
    const { name, description, external_id: externalId, ends_at: endsAt } = work.body
    return changeTerms(
      work.db,
      work.namespaceId,
      work.params.contract_id,
      { name, description, externalId, endsAt },
      () => changeTime(work.db, work),
    )
  }),
  read('listContractLines', pageOf(lineToBody), async ({ db, namespaceId, params, query }) => {
    const contract = await contractRepository(db).findRecord(namespaceId, params.contract_id)
    if (contract === undefined) throw new DomainError('not_found', 'no such contract')
    return contractLineRepository(db).list(namespaceId, contract.id, pageIn(query))
  }),
  once(
    'changeContract',
    { action: 'contract.changed', toBody: timedToBody },
    timed((work, now) => changeLines(work.db, work.namespaceId, work.params.contract_id, work.body, now)),
  ),
  once(
    'cancelContract',
    { action: 'contract.canceled', toBody: timedToBody },
    timed((work, now) => {
      const { db, namespaceId, params, body } = work
      const request = { ...cancelRequestOf(body), reason: body.reason ?? null }
      return cancelContract(db, namespaceId, params.contract_id, request, now)
    }),
  ),
  once(
    'uncancelContract',
    { action: 'contract.uncanceled', toBody: timedToBody },
    timed((work, now) => uncancelContract(work.db, work.namespaceId, work.params.contract_id, now)),
  ),
]

function toBody(contract: StoredContract, { now }: { now: number }) {
  return contractToBody(contract, now)
}

/** A contract, and the time of its change in Unix seconds. */
interface TimedContract {
  contract: StoredContract
  at: number
}

/** Shows the contract at the current time, but never at a time before the change. */
function timedToBody({ contract, at }: TimedContract, { clock }: { clock: () => Date }) {
  return contractToBody(contract, Math.max(secondsOf(clock()), at))
}

/** @param change calls `now` only after it has taken its locks */
function timed<Id extends OperationId>(
  change: (work: Work<Id>, now: () => Promise<number>) => Promise<StoredContract | undefined>,
): (work: Work<Id>) => Promise<TimedContract | undefined> {
  return async (work) => {
    let at = 0
    const contract = await change(work, async () => (at = await changeTime(work.db, work)))
    return contract && { contract, at }
  }
}

/** @throws DomainError unprocessable when the mode at has no time, or another mode has one */
function cancelRequestOf({ mode, cancel_at: cancelAt }: RequestOf<'cancelContract'>['body']): CancelRequest {
  if (mode !== 'at') {
    if (cancelAt === undefined) return { mode }
    throw new DomainError('unprocessable', `cancel_at: only goes with the mode at, not with ${mode}`)
  }
  if (cancelAt === undefined) throw new DomainError('unprocessable', 'cancel_at: is required by the mode at')
  return { mode, cancelAt }
}
