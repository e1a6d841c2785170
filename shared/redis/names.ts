/** The names of keys and channels in Redis, after the prefix. */
export const NAMES = {
  /** The caller of an API key, by the key's digest. Each process caches callers, and drops them on a purge. */
  caller: (digest: Buffer) => `caller:${digest.toString('hex')}`,
  /** Purges the list of analysts, which each process caches for seconds. */
  analysts: 'analysts',
  /** The prefix of counters: each has a caller's use of a limit in this window. */
  limit: (limit: string) => `limit:${limit}`,
  /** The channel for messages that name values to drop from caches. */
  purges: 'purges',
} as const
