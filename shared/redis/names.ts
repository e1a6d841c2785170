/** What keys and channels in Redis are called, after the prefix. */
export const NAMES = {
  /** Whose key it is, by the key's digest: what each process caches, and is told to drop. */
  caller: (digest: Buffer) => `caller:${digest.toString('hex')}`,
  /** How much a caller has used of a limit in this window. */
  limit: (limit: string) => `limit:${limit}`,
  /** Where processes tell each other what to forget. */
  purges: 'purges',
} as const
