/** The names of keys and channels in Redis, after the prefix. */
export const NAMES = {
  /** The caller of a key, by the key's digest: each process caches the caller, and drops it on a purge. */
  caller: (digest: Buffer) => `caller:${digest.toString('hex')}`,
  /** A caller's use of a limit in this window. */
  limit: (limit: string) => `limit:${limit}`,
  /** The channel on which processes tell each other what to drop from caches. */
  purges: 'purges',
} as const
