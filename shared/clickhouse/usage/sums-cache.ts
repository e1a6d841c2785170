import { LRUCache } from 'lru-cache'
import { type AccountKey, nameOfAccount } from '../../domain/account-key.ts'
import type { SumsBySource } from '../../domain/balance.ts'
import { SMALL_STEPS, yielder } from '../../lifecycle/yielder.ts'
import { CACHED_MAX, CACHED_SUMS_MAX } from './closed-sums-cache.ts'

/**
 * So that nothing that was ever wrong, such as rollups that an operator had computed anew, stays in the cache for good.
 */
const TTL_MS = 300_000

/** A read of an account's sums that is under way. */
interface Reading {
  /** Whether usage of the account was being written at any time since it began. */
  isOutdated: boolean
}

export type SumsCache = ReturnType<typeof makeSumsCache>

/**
 * Caches the sums of all usage of accounts, each until some of it is written. Only where nobody else can write: the
 * embedded engine belongs to one process, whose loader says here whose usage it stores. Sums are not cached when usage
 * of the account was being written at any time while they were read. So what is in the cache is what a read that begins
 * now would find.
 */
export function makeSumsCache() {
  const cached = new LRUCache<string, SumsBySource>({
    max: CACHED_MAX,
    maxSize: CACHED_SUMS_MAX,
    sizeCalculation: (sums) => sums.size,
    ttl: TTL_MS,
  })
  const reading = new Map<string, Set<Reading>>()
  /** How many writes of an account's usage are under way. */
  const writing = new Map<string, number>()

  const beginWrite = (name: string) => {
    writing.set(name, (writing.get(name) ?? 0) + 1)
    cached.delete(name)
    for (const read of reading.get(name) ?? []) read.isOutdated = true
  }
  const endWrite = (name: string) => {
    const left = (writing.get(name) ?? 0) - 1
    if (left > 0) writing.set(name, left)
    else writing.delete(name)
  }
  const beginRead = (name: string): Reading => {
    const read = { isOutdated: writing.has(name) }
    reading.set(name, (reading.get(name) ?? new Set<Reading>()).add(read))
    return read
  }
  const endRead = (name: string, read: Reading) => {
    const reads = reading.get(name)
    reads?.delete(read)
    if (reads?.size === 0) reading.delete(name)
  }

  return {
    has: (account: AccountKey): boolean => cached.has(nameOfAccount(account)),

    /**
     * Usage of an account by source, from the cache or read now. Sums of an account without usage are not cached:
     * whoever asks for accounts that do not exist would push out those of others.
     *
     * @param ask reads all usage of the account
     */
    async read(account: AccountKey, ask: () => Promise<SumsBySource>): Promise<SumsBySource> {
      const name = nameOfAccount(account)
      const found = cached.get(name)
      if (found !== undefined) return found
      const read = beginRead(name)
      try {
        const sums = await ask()
        if (!read.isOutdated && sums.size > 0) cached.set(name, sums)
        return sums
      } finally {
        endRead(name, read)
      }
    },

    /**
     * Runs a write of usage.
     *
     * @param accounts whose usage it may change; the same one several times is allowed
     * @param write must not resolve before readers can see what it stored, nor store anything once it has failed
     */
    async whileWriting<T>(accounts: readonly AccountKey[], write: () => Promise<T>): Promise<T> {
      const yielding = yielder(SMALL_STEPS)
      const names: string[] = []
      // Not by their names: to make one for each of 50,000 lines took 18 ms where this takes 3, with 1,000 accounts.
      const seen = new Map<string, Set<string>>()
      try {
        for (const account of accounts) {
          if (yielding.isDue()) await yielding.yieldToOthers()
          const ofNamespace = seen.get(account.namespaceId) ?? new Set<string>()
          if (ofNamespace.has(account.accountId)) continue
          seen.set(account.namespaceId, ofNamespace.add(account.accountId))
          const name = nameOfAccount(account)
          names.push(name)
          beginWrite(name)
        }
        return await write()
      } finally {
        for (const name of names) endWrite(name)
      }
    },
  }
}
