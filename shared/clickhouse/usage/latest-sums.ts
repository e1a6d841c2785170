import { LRUCache } from 'lru-cache'
import { type AccountKey, nameOfAccount } from '../../domain/account-key.ts'
import { addSums, type SumsBySource } from '../../domain/balance.ts'
import { SMALL_STEPS, yielder } from '../../lifecycle/yielder.ts'
import type { LogLineSubject } from '../../usage-lines/log-line-subjects.ts'
import { addedUsage, type WrittenAccount } from './added-usage.ts'
import { CACHED_MAX, CACHED_SUMS_MAX } from './closed-sums.ts'
import { storedIds } from './stored-ids.ts'

/**
 * Sums are dropped after this time, so that no error stays for good. In a shorter time the accounts of a busy company
 * expire one by one, and one account costs nearly as much to read as a hundred.
 */
const TTL_MS = 3_600_000
/** Part of that time by which entries differ, so that not all expire at once. */
const TTL_VARIES = 0.5

/** A read waits for a write of the account to end, until the write has taken this long. Then it asks ClickHouse. */
const WRITE_AWAITED_MS = 1_000

/** Sums of an account as they were read. */
export interface SumsRead {
  sums: SumsBySource
  /** Of the rollups they were read from; Infinity for sums of events. */
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
  /** Of the latest one; by performance.now(). */
  begunAt: number
  /** Whether all events of all of them are new. */
  isNew: boolean
  /** Called when the last write has ended, with the account's sums if they are cached. */
  waiting: Set<(sums: SumsBySource | undefined) => void>
}

export type LatestSums = ReturnType<typeof makeLatestSums>

/**
 * Caches the sums of all usage of accounts. It is used only where no other process can write: the embedded engine
 * belongs to one process, and its loader makes all its writes known here. The cached sums are what a read that begins
 * now would find:
 *
 * - Sums are not cached when usage of the account was being written at any time while they were read.
 * - When a write ends, what it added is added to the cached sums. If that is not known, or the write failed, the sums
 *   are dropped.
 * - While a write is under way, nobody can say whether a read would find it. So nothing is taken from the cache: a read
 *   waits for the end of the write. A read of sums that are not cached waits too, because its answer could not be cached.
 * - When readers use the rollups of another epoch, all sums are dropped: the former rollups may have been wrong.
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
     * requests for accounts that do not exist would push out others.
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

    /** Drops what was read from the rollups of other epochs. @param epoch the one that readers use now */
    useEpoch(epoch: number): void {
      if (epoch <= epochInUse) return
      epochInUse = epoch
      cached.clear()
    },

    /**
     * Runs a write of usage.
     *
     * @param accounts whose usage the write may change; an account may be listed several times
     * @param write must not resolve before readers can see what it stored, nor store anything once it has failed
     */
    whileWriting,

    /**
     * Runs a write of lines of the event log; what its new events add is added to the cached sums.
     *
     * @param subjects of the lines, in their order
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

/** The sums of an account once its writes have ended; undefined when they are not cached, or it takes too long. */
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
