/** An account of any namespace. */
export interface AccountKey {
  namespaceId: string
  accountId: string
}

/** One text for both ids. Neither id contains a space, so no two accounts have the same text. */
export const nameOfAccount = ({ namespaceId, accountId }: AccountKey): string => `${namespaceId} ${accountId}`

/** The key for all accounts of a namespace at once. It has an empty account id. */
export const nameOfAllAccounts = ({ namespaceId }: AccountKey): string =>
  nameOfAccount({ namespaceId, accountId: '' })
