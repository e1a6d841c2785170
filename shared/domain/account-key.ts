/** An account of any namespace. */
export interface AccountKey {
  namespaceId: string
  accountId: string
}

/** One text for both: neither has a space. */
export const nameOfAccount = ({ namespaceId, accountId }: AccountKey): string => `${namespaceId} ${accountId}`

/** … of all accounts of a namespace at once, which is told of under an empty id. */
export const nameOfAllAccounts = ({ namespaceId }: AccountKey): string =>
  nameOfAccount({ namespaceId, accountId: '' })
