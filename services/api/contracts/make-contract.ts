import { parseBillingCurrency } from '../../../shared/domain/billing/billing-currency.ts'
import type { StoredContract } from '../../../shared/domain/billing/stored-contract.ts'
import { newUuid } from '../../../shared/domain/ids.ts'
import { earliestSecond, YEARS_BACK } from '../../../shared/domain/period.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { RequestOf } from '../../../shared/http/operation.ts'
import { contractRepository, type NewContract } from '../../../shared/postgres/contracts.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { requestCredits } from '../../../shared/postgres/refill-requests.ts'
import { requireLinesTogether } from './line-changes.ts'
import { readLines } from './new-lines.ts'
import { requireUsable } from './require-usable.ts'

/** The body of a request that makes a contract. */
type NewContractBody = RequestOf<'createContract'>['body']

/**
 * Makes a contract with its lines, within a transaction.
 *
 * @param now in whole Unix seconds
 * @throws DomainError malformed or unprocessable for terms that are not possible; conflict when the account already
 *   follows a card at the time of a line, or when another contract has the external id
 */
export async function makeContract(
  db: PoolClient,
  namespaceId: string,
  body: NewContractBody,
  now: number,
): Promise<StoredContract> {
  const contract = newContractOf(body, now)
  const asked = readLines(body.lines, 'lines', contract.startsAt)
  await holdAccount(db, namespaceId, contract.accountId)
  await requireUsable(db, namespaceId, contract, asked)
  const lines = asked.map(({ line }) => line)
  requireLinesTogether(lines, asked, now)
  if (lines.some(({ kind }) => kind === 'credit')) await requestCredits(db, namespaceId)
  return contractRepository(db).insert(namespaceId, contract, lines)
}

function newContractOf(body: NewContractBody, now: number): NewContract {
  const { starts_at: startsAt = now, anchor_at: anchorAt = startsAt, ends_at: endsAt = null } = body
  if (startsAt < earliestSecond(now))
    throw new DomainError('unprocessable', `starts_at: lies more than ${YEARS_BACK} years back`)
  if (endsAt !== null && endsAt <= startsAt)
    throw new DomainError('unprocessable', 'ends_at: must be after starts_at')
  return {
    id: newUuid(),
    accountId: body.account_id,
    currency: parseBillingCurrency(body.currency),
    cadence: body.cadence,
    anchorAt,
    startsAt,
    endsAt,
    name: body.name ?? null,
    description: body.description ?? null,
    externalId: body.external_id ?? null,
  }
}

async function holdAccount(db: PoolClient, namespaceId: string, accountId: string): Promise<void> {
  const account = await contractRepository(db).lockAccount(namespaceId, accountId)
  if (account === undefined) throw new DomainError('unprocessable', 'account_id: there is no such account')
  if (account.archivedAt !== null)
    throw new DomainError('unprocessable', 'account_id: the account is archived')
}
