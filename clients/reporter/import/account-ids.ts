import { LRUCache } from 'lru-cache'
import { isLostInUrls } from '../../../shared/domain/external-id.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { isPrintable } from '../../../shared/text/printable.ts'
import type { TallyResources } from '../tally-resources.ts'

/** Finds the ids of accounts by their external ids. External ids without an account are absent. */
export type AccountIds = (externalIds: ReadonlySet<string>) => Promise<ReadonlyMap<string, string>>

const CACHED_MAX = 200_000

/**
 * Makes a function that finds accounts, and caches them. An external id may be moved to another account, but not in the
 * middle of an import.
 *
 * @param create whether to make missing accounts, with their external ids as names. An account is not made if its
 *   external id has invisible characters, or is lost in URLs
 */
export function accountIds(resources: TallyResources, create: boolean): AccountIds {
  const cached = new LRUCache<string, string>({ max: CACHED_MAX })
  const asked = new Map<string, Promise<string | undefined>>()
  const ask = async (externalId: string): Promise<string | undefined> => {
    const account =
      create && canBeFound(externalId)
        ? await resources.ensureAccount(externalId)
        : await resources.findAccountByExternalId(externalId)
    if (account !== undefined) cached.set(externalId, account.id)
    return account?.id
  }
  const askOnce = (externalId: string): Promise<string | undefined> => {
    const answer = asked.get(externalId) ?? ask(externalId).finally(() => asked.delete(externalId))
    asked.set(externalId, answer)
    return answer
  }
  return async (externalIds) => {
    const found = new Map<string, string>()
    await Promise.all(
      [...externalIds].map(async (externalId) => {
        const id = cached.get(externalId) ?? (await askOnce(externalId))
        if (id !== undefined) found.set(externalId, id)
      }),
    )
    return found
  }
}

/** False for an id with invisible characters, or that is lost in URLs, because no one would find that account again. */
const canBeFound = (externalId: string): boolean => isPrintable(externalId) && !isLostInUrls(externalId)

/** Makes the advice about a missing account. */
export function adviceOnMissing(externalId: string): string {
  if (canBeFound(externalId)) return '; --create makes it'
  return isLostInUrls(externalId)
    ? ', and none can be made, because such an id is lost in URLs'
    : ', and --create makes none with characters that cannot be seen'
}

/** The maximum number of accounts of one name that are looked for. */
const NAMESAKES_MAX = 3

/**
 * Finds the one account that all lines are for.
 *
 * @param text its id, its external id or its name, tried in this order
 * @param create whether to make a missing account, with the text as its external id and name
 * @throws StartupError when there is no such account, or several accounts have that name
 */
export async function resolveAccount(
  resources: TallyResources,
  text: string,
  create: boolean,
): Promise<string> {
  if (/^account_[0-9a-f]{32}$/.test(text)) {
    const account = await resources.findAccount(text)
    if (account === undefined) throw new StartupError(`there is no account ${text}`)
    return account.id
  }
  const byExternalId = await resources.findAccountByExternalId(text)
  if (byExternalId !== undefined) return byExternalId.id
  const named = await resources.listAccountsNamed(text, NAMESAKES_MAX)
  const [first] = named
  if (named.length > 1)
    throw new StartupError(
      `several accounts are named ${JSON.stringify(text)}; give the id of one: ${named.map(({ id }) => id).join(', ')}`,
    )
  if (first !== undefined) return first.id
  if (create && canBeFound(text)) return (await resources.ensureAccount(text)).id
  throw new StartupError(
    `there is no account with the id, external id or name ${JSON.stringify(text)}${adviceOnMissing(text)}`,
  )
}
