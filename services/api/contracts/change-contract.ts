import {
  cancellationOf,
  type CancelRequest,
  contractStatus,
  requireNotOver,
} from '../../../shared/domain/billing/contract-status.ts'
import type { StoredContract } from '../../../shared/domain/billing/stored-contract.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { type ContractChanges, contractRepository } from '../../../shared/postgres/contracts.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { requestCredits } from '../../../shared/postgres/refill-requests.ts'
import { type LineChangesBody, readLineChanges } from './line-changes.ts'

// The changes of a contract. Each is within a transaction, holds the contract, and asks only then what time it is, in
// Unix seconds: whoever waited for another change does not write what was due before it. They return undefined when
// there is no such contract.

type Now = () => Promise<number>

/**
 * Changes what is said of a contract, and lets it end later.
 *
 * @throws DomainError conflict when it is over, or the account follows another card once it goes on; unprocessable when
 *   it is to end earlier, and when another contract has the external id
 */
export async function changeTerms(
  db: PoolClient,
  namespaceId: string,
  contractId: string,
  changes: ContractChanges,
  now: Now,
): Promise<StoredContract | undefined> {
  const contract = await contractRepository(db).lock(namespaceId, contractId)
  if (contract === undefined) return undefined
  requireNotOver(contract, await now())
  const { endsAt } = changes
  if (endsAt !== undefined && (endsAt ?? Infinity) < (contract.endsAt ?? Infinity))
    throw new DomainError(
      'unprocessable',
      'ends_at: can be moved to a later time alone; to end it earlier, cancel',
    )
  return contractRepository(db).update(namespaceId, contract, changes)
}

/**
 * Ends lines and adds others.
 *
 * @throws DomainError as readLineChanges does, and conflict when the account follows a card then
 */
export async function changeLines(
  db: PoolClient,
  namespaceId: string,
  contractId: string,
  body: LineChangesBody,
  now: Now,
): Promise<StoredContract | undefined> {
  const contract = await contractRepository(db).lock(namespaceId, contractId)
  if (contract === undefined) return undefined
  const changes = await readLineChanges(db, namespaceId, contract, body, await now())
  if (changes.add.some(({ kind }) => kind === 'credit')) await requestCredits(db, namespaceId)
  return contractRepository(db).changeLines(namespaceId, contract, changes)
}

/**
 * Lets a contract end earlier than it would, in the place of an earlier cancellation that is pending. Of one that is
 * canceled the first cancellation stands.
 *
 * @throws DomainError conflict when it has ended, unprocessable when the time lies before now or after its end
 */
export async function cancelContract(
  db: PoolClient,
  namespaceId: string,
  contractId: string,
  request: CancelRequest & { reason: string | null },
  now: Now,
): Promise<StoredContract | undefined> {
  const contract = await contractRepository(db).lock(namespaceId, contractId)
  if (contract === undefined) return undefined
  const second = await now()
  const cancelAt = cancellationOf(contract, request, second)
  if (contractStatus(contract, second) === 'canceled') return contract
  const cancellation = { mode: request.mode, reason: request.reason, requestedAt: second }
  return contractRepository(db).setCancellation(namespaceId, contract, cancelAt, cancellation)
}

/**
 * Takes a cancellation back that is pending.
 *
 * @throws DomainError conflict when the contract is over, and when the account follows another card meanwhile
 */
export async function uncancelContract(
  db: PoolClient,
  namespaceId: string,
  contractId: string,
  now: Now,
): Promise<StoredContract | undefined> {
  const contract = await contractRepository(db).lock(namespaceId, contractId)
  if (contract === undefined) return undefined
  requireNotOver(contract, await now())
  return contract.cancelAt === null
    ? contract
    : contractRepository(db).setCancellation(namespaceId, contract, null, null)
}
