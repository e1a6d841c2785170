/** An account of any namespace. */
export interface AccountKey {
  namespaceId: string
  accountId: string
}

/** One text for both: neither has a space. */
export const nameOfAccount = ({ namespaceId, accountId }: AccountKey): string => `${namespaceId} ${accountId}`
