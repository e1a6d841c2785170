import { READ_ACCOUNT } from '../domain/api-key.ts'
import { DomainError } from '../errors/domain-error.ts'
import type { Operation } from './openapi-document.ts'

/** The parameters of a request, checked against openapi.yaml. */
interface Asked {
  params: object
  query: object
}

/**
 * Limits a request of an account key to the key's account.
 *
 * @throws DomainError forbidden when the operation or a parameter is not for account keys; not_found when the request
 *   names another account, whether that account exists or not
 */
export type LimitToAccount = (asked: Asked, accountId: string) => Asked

/**
 * Operations for account keys that name no account. `listMetrics` is about the whole company, and the other two ask the
 * caller for its account.
 */
const WITHOUT_ACCOUNT: readonly string[] = ['getCaller', 'listMetrics', 'listCurrencies']

/** Parameters that account keys may not use. Properties of events may contain what is not meant for customers. */
const NOT_FOR_ACCOUNTS: readonly string[] = ['property']

/**
 * Makes the function that decides what an account key may ask an operation. Nothing else compares accounts with keys,
 * so an operation cannot forget to do so.
 *
 * @throws Error when openapi.yaml offers an operation to account keys, and it is not known how the operation names its
 *   account
 */
export function limitToAccount({ operationId, permissions, accountIn }: Operation): LimitToAccount {
  const isOffered = permissions?.includes(READ_ACCOUNT) === true
  if (isOffered && accountIn === undefined && !WITHOUT_ACCOUNT.includes(operationId))
    throw new Error(`${operationId} is offered to account keys, and does not name an account`)
  return ({ params, query }, accountId) => {
    if (!isOffered) throw new DomainError('forbidden', `${operationId} is not for account keys`)
    const refused = NOT_FOR_ACCOUNTS.find((name) => valueOf(query, name) !== undefined)
    if (refused !== undefined) throw new DomainError('forbidden', `${refused}: an account key may not use it`)
    const named = valueOf(accountIn === 'path' ? params : query, 'account_id')
    if (named !== undefined && named !== accountId) throw new DomainError('not_found', 'not its account')
    return { params, query: accountIn === 'query' ? { ...query, account_id: accountId } : query }
  }
}

const valueOf = (parameters: object, name: string): unknown => (parameters as Record<string, unknown>)[name]

/**
 * Checks again, in the answer to an account key, that it names no other account. A bug elsewhere then becomes a 500, and
 * shows nothing to a stranger.
 *
 * @throws Error when the answer has the id of another account
 */
export function requireOwnAnswer(answer: unknown, accountId: string): void {
  if (typeof answer !== 'object' || answer === null) return
  for (const [name, value] of Object.entries(answer)) {
    if (name === 'account_id' && value !== null && value !== accountId)
      throw new Error('an answer to an account key has another account')
    requireOwnAnswer(value, accountId)
  }
}
