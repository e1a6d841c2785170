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

// Functions that change a contract. Each runs within a transaction, locks the contract first, and then reads the time,
// in Unix seconds. So a change that waited for another change never writes an earlier time than the other one. Each
// function returns undefined when there is no such contract.

type Now = () => Promise<number>

/**
 * Changes the fields of a contract, or moves its end to a later time.
 *
 * @throws DomainError conflict when the contract is over, or when the account follows another card after the old end;
 *   unprocessable when the new end is earlier, or when another contract has the external id
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
      'ends_at: can only be moved to a later time; to end it earlier, cancel',
    )
  return contractRepository(db).update(namespaceId, contract, changes)
}

/**
 * Ends lines and adds others.
 *
 * @throws DomainError for the reasons of readLineChanges; also conflict when the account already follows a card at the
 *   time of a new line
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
 * Ends a contract early. The new cancellation replaces a pending one. If the contract is already canceled, its
 * cancellation stays.
 *
 * @throws DomainError conflict when the contract has ended, unprocessable when the requested time lies in the past or
 *   after the contract's end
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
 * Removes a pending cancellation.
 *
 * @throws DomainError conflict when the contract is over, or when the account now follows another card
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
