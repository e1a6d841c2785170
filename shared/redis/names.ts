/** The names of keys and channels in Redis, after the prefix. */
export const NAMES = {
  /** The caller of a key, by the key's digest: each process caches the caller, and drops it on a purge. */
  caller: (digest: Buffer) => `caller:${digest.toString('hex')}`,
  /** Who may sign in as an analyst: each process keeps the list for seconds, and reads it again on a purge. */
  analysts: 'analysts',
  /** A caller's use of a limit in this window. */
  limit: (limit: string) => `limit:${limit}`,
  /** The channel on which processes tell each other what to drop from caches. */
  purges: 'purges',
} as const
