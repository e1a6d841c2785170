import { LRUCache } from 'lru-cache'
import { type AccountKey, nameOfAccount } from '../../domain/account-key.ts'
import { addSums, type SumsBySource } from '../../domain/balance.ts'
import { SMALL_STEPS, yielder } from '../../lifecycle/yielder.ts'
import type { LogLineSubject } from '../../usage-lines/log-line-subjects.ts'
import { addedUsage, type WrittenAccount } from './added-usage.ts'
import { CACHED_MAX, CACHED_SUMS_MAX } from './closed-sums.ts'
import { storedIds } from './stored-ids.ts'

/**
 * Sums are dropped after this time, so that no error stays for ever. With a shorter time, the accounts of a busy
 * company would expire one by one, and reading one account costs nearly as much as reading a hundred.
 */
const TTL_MS = 3_600_000
/** The time of an entry is reduced by a random part, at most this one, so that not all entries expire at once. */
const TTL_VARIES = 0.5

/** A read waits until a write of the account has ended or has taken this long. Then the read asks ClickHouse. */
const WRITE_AWAITED_MS = 1_000

/** Sums of an account as they were read. */
export interface SumsRead {
  sums: SumsBySource
  /** The epoch of the rollups that the sums were read from; Infinity for sums of events. */
  epoch: number
}

/** A read of an account's sums that is under way. */
interface Reading {
  /** Whether usage of the account was being written at any time since the read began. */
  isOutdated: boolean
}

/** Writes of an account's usage that are under way. */
interface Writing {
  count: number
  /** When the latest of these writes began, by performance.now(). */
  begunAt: number
  /** Whether all events of the account in these writes are new. */
  isNew: boolean
  /** Called when the last write has ended, with the account's sums if they are cached. */
  waiting: Set<(sums: SumsBySource | undefined) => void>
}

export type LatestSums = ReturnType<typeof makeLatestSums>

/**
 * Caches the sums of all usage of accounts. It is used only where no other process can write: the embedded engine
 * belongs to one process, and the loader of that process passes all writes through this cache. The cached sums equal
 * the sums that a read would find if it began now:
 *
 * - Sums are not cached when usage of the account was being written at any time while they were read.
 * - When a write ends, the usage that it added is added to the cached sums. If that usage is not known, or the write
 *   failed, the sums are dropped.
 * - While a write is under way, a query may find its rows or not. So a read does not use the cached sums, but waits for
 *   the end of the write. If no sums are cached, a read waits only for a write whose events are all new, because the
 *   answer of a query during the write could not be cached.
 * - When readers change to the rollups of another epoch, all sums are dropped: the former rollups may have been wrong.
 *
 * @param emptyFrom Unix seconds; no event that occurred at or after this is stored yet
 */
export function makeLatestSums(emptyFrom: number) {
  const ids = storedIds(emptyFrom)
  const cached = sumsCache()
  const has = (account: AccountKey): boolean => cached.has(nameOfAccount(account))
  const reads = readsUnderWay()
  const writes = writesUnderWay(cached, reads)
  let epochInUse = 0
  const readInto = async (name: string, ask: () => Promise<SumsRead>) => {
    const { sums, epoch, isOutdated } = await reads.run(name, ask, writes.of(name) !== undefined)
    if (!isOutdated && epoch >= epochInUse && sums.size > 0)
      cached.set(name, sums, { ttl: TTL_MS * (1 - Math.random() * TTL_VARIES) })
    return sums
  }
  const whileWriting = async <T>(
    accounts: readonly WrittenAccount[],
    write: () => Promise<T>,
  ): Promise<T> => {
    const yielding = yielder(SMALL_STEPS)
    const begun: (readonly [string, WrittenAccount])[] = []
    let isStored = false
    try {
      for (const account of accounts) {
        if (yielding.isDue()) await yielding.yieldToOthers()
        const name = nameOfAccount(account)
        begun.push([name, account])
        writes.begin(name, account)
      }
      const answer = await write()
      isStored = true
      return answer
    } finally {
      for (const [name, account] of begun) {
        if (yielding.isDue()) await yielding.yieldToOthers()
        writes.end(name, account, isStored)
      }
    }
  }

  return {
    has,

    /**
     * Usage of an account by source, from the cache or read now. Sums of an account without usage are not cached:
     * requests for accounts that do not exist would push the sums of other accounts out of the cache.
     *
     * @param ask reads all usage of the account
     */
    async read(account: AccountKey, ask: () => Promise<SumsRead>): Promise<SumsBySource> {
      const name = nameOfAccount(account)
      const write = writes.of(name)
      const isAwaited = write !== undefined && (write.isNew || cached.has(name))
      const sums = isAwaited ? await untilWritten(write) : cached.get(name)
      return sums ?? readInto(name, ask)
    },

    /** Drops all cached sums when readers change to another epoch. @param epoch the epoch that readers use now */
    useEpoch(epoch: number): void {
      if (epoch <= epochInUse) return
      epochInUse = epoch
      cached.clear()
    },

    /**
     * Runs a write of usage.
     *
     * @param accounts the accounts whose usage the write may change; an account may be listed several times
     * @param write must resolve only when readers can see the rows that it stored. After it has failed, it must store
     *   nothing more
     */
    whileWriting,

    /**
     * Runs a write of lines of the event log, and adds the usage of its new events to the cached sums.
     *
     * @param subjects the subjects of the lines, in the order of the lines
     * @param write as in whileWriting
     */
    async whileStoring<T>(
      lines: Buffer,
      subjects: readonly LogLineSubject[],
      write: () => Promise<T>,
    ): Promise<T> {
      return whileWriting(await addedUsage(lines, subjects, ids, has), write)
    },
  }
}

/** Sums of all usage, by the accounts' names. */
const sumsCache = () =>
  new LRUCache<string, SumsBySource>({
    max: CACHED_MAX,
    maxSize: CACHED_SUMS_MAX,
    sizeCalculation: (sums) => sums.size,
    ttl: TTL_MS,
    noUpdateTTL: true,
  })

/** Reads of accounts that are under way, by the accounts' names. */
function readsUnderWay() {
  const reading = new Map<string, Set<Reading>>()
  return {
    /** Marks all reads of the account that are under way: their answers may be outdated. */
    outdate(name: string): void {
      for (const read of reading.get(name) ?? []) read.isOutdated = true
    },

    /** @param isOutdated whether the answer may be outdated because of a write that is under way already */
    async run(name: string, ask: () => Promise<SumsRead>, isOutdated: boolean) {
      const read: Reading = { isOutdated }
      const others = reading.get(name) ?? new Set()
      reading.set(name, others.add(read))
      try {
        return { ...(await ask()), isOutdated: read.isOutdated }
      } finally {
        others.delete(read)
        if (others.size === 0) reading.delete(name)
      }
    },
  }
}

/** Writes of accounts' usage that are under way, by the accounts' names, and their effects on the cache. */
function writesUnderWay(cached: LRUCache<string, SumsBySource>, reads: ReturnType<typeof readsUnderWay>) {
  const writing = new Map<string, Writing>()
  return {
    of: (name: string): Writing | undefined => writing.get(name),

    begin(name: string, { added, isNew = false }: WrittenAccount): void {
      const write: Writing = writing.get(name) ?? { count: 0, begunAt: 0, isNew: true, waiting: new Set() }
      writing.set(name, write)
      write.count++
      write.begunAt = performance.now()
      write.isNew &&= isNew
      if (added === undefined) cached.delete(name)
      reads.outdate(name)
    },

    end(name: string, { added }: WrittenAccount, isStored: boolean): void {
      const before = cached.peek(name)
      if (before === undefined || added === undefined || !isStored) cached.delete(name)
      else cached.set(name, addSums(before, added))
      const write = writing.get(name)
      if (write === undefined || --write.count > 0) return
      writing.delete(name)
      const sums = cached.peek(name)
      for (const resolve of write.waiting) resolve(sums)
    },
  }
}

/**
 * The sums of an account once its writes have ended; undefined when no sums are cached, or the writes take too long.
 */
async function untilWritten({ waiting, begunAt }: Writing): Promise<SumsBySource | undefined> {
  const leftMs = begunAt + WRITE_AWAITED_MS - performance.now()
  if (leftMs <= 0) return undefined
  return new Promise((resolve) => {
    const end = (sums: SumsBySource | undefined) => {
      clearTimeout(timer)
      waiting.delete(end)
      resolve(sums)
    }
    const timer = setTimeout(end, leftMs, undefined)
    waiting.add(end)
  })
}
