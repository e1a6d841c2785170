import { setTimeout as sleep } from 'node:timers/promises'
import type { LogConsumer, LogRecord, PollLimits, Position } from '../../shared/event-log/event-log.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { readRecord, type Block, type RejectedLine } from './read-record.ts'
import { storeBlocks, type StoreBlocksDeps } from './store-blocks.ts'

export interface LoadUsageDeps extends Pick<StoreBlocksDeps, 'insertLines' | 'bury'> {
  consumer: LogConsumer
  log: Logger
}

export interface LoadUsageOptions {
  /** A batch is stored when it holds this many rows … */
  batchRowsMax: number
  /** … or this many bytes … */
  batchBytesMax: number
  /** … or when its first row is this old. */
  flushMs: number
}

/** Records that are stored together. */
interface Batch {
  blocks: Block[]
  rejected: RejectedLine[]
  rows: number
  bytes: number
  /** For each partition the next offset after this batch. */
  positions: Map<number, number>
}

/** How long one look into the log waits when there is nothing. */
const IDLE_WAIT_MS = 200
const BACK_OFF_MS = 500

/**
 * Moves usage from the event log into ClickHouse for as long as it is not closed. The offset is committed last: a crash
 * in between replays the batch, and the table collapses the rows of one event; the other order would lose them.
 *
 * The next batch is gathered while one is stored. When ClickHouse is away both wait, so memory stays bounded.
 */
export function loadUsage(deps: LoadUsageDeps, options: LoadUsageOptions): Closeable {
  const stopping = new AbortController()
  const { signal } = stopping
  const run = async () => {
    let storing = Promise.resolve()
    while (!signal.aborted) {
      const batch = await gather(deps, options, signal)
      if (batch.positions.size === 0) continue
      await storing
      storing = store(batch, deps, signal)
    }
    await storing
  }
  const running = run()
  return {
    name: 'loader',
    async close() {
      stopping.abort()
      await running
      await deps.consumer.close()
    },
  }
}

/**
 * Takes records from the log until they make up a batch. When reading fails it ends with what it has: the consumer will not
 * give that again, and the next commit passes over it.
 */
async function gather(deps: LoadUsageDeps, options: LoadUsageOptions, signal: AbortSignal): Promise<Batch> {
  const batch: Batch = { blocks: [], rejected: [], rows: 0, bytes: 0, positions: new Map() }
  let flushAt = Infinity
  while (!signal.aborted) {
    const waitMs = Math.min(IDLE_WAIT_MS, Math.max(0, flushAt - performance.now()))
    const records = await tryPoll(deps, { bytesMax: options.batchBytesMax - batch.bytes, waitMs })
    if (records === undefined) {
      if (batch.positions.size === 0) await sleep(BACK_OFF_MS, undefined, { signal }).catch(() => undefined)
      break
    }
    for (const record of records) add(batch, record)
    if (records.length > 0) flushAt = Math.min(flushAt, performance.now() + options.flushMs)
    const isFull = batch.rows >= options.batchRowsMax || batch.bytes >= options.batchBytesMax
    if (isFull || performance.now() >= flushAt) break
  }
  return batch
}

/** The next records, or undefined when the log cannot be read now. */
async function tryPoll(
  { consumer, log }: LoadUsageDeps,
  limits: PollLimits,
): Promise<LogRecord[] | undefined> {
  try {
    return await consumer.poll(limits)
  } catch (err) {
    log.warn({ err }, 'could not read the event log, trying again')
    return undefined
  }
}

function add(batch: Batch, record: LogRecord): void {
  const { blocks, rejected } = readRecord(record)
  batch.blocks.push(...blocks)
  batch.rejected.push(...rejected)
  batch.rows += blocks.reduce((sum, { rows }) => sum + rows, 0)
  batch.bytes += record.value.length
  batch.positions.set(record.partition, record.offset + 1)
}

/** Stores a batch for good: rows and dead letters first, the offsets last. Gives up only in trouble when told to stop. */
async function store(batch: Batch, deps: LoadUsageDeps, signal: AbortSignal): Promise<void> {
  const { consumer, log } = deps
  const positions: Position[] = [...batch.positions].map(([partition, offset]) => ({ partition, offset }))
  const bury = (line: Block, reason: string) => untilDone(() => deps.bury(line, reason), log, signal)
  try {
    await storeBlocks(batch.blocks, { ...deps, bury, signal })
    for (const { at, reason } of batch.rejected) {
      log.error(
        { partition: at.partition, offset: at.offset, line: at.line, reason },
        'a line was sent to the dead letters',
      )
      await bury(at, reason)
    }
    await untilDone(() => consumer.commit(positions), log, signal)
    log.debug({ rows: batch.rows, bytes: batch.bytes }, 'loaded a batch')
  } catch (err) {
    if (!signal.aborted) throw err
    log.info({ rows: batch.rows }, 'stopping before a batch was stored: it comes again after the next start')
  }
}

async function untilDone(work: () => Promise<void>, log: Logger, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await work()
      return
    } catch (err) {
      log.warn({ err }, 'PostgreSQL did not answer the loader, trying again')
      await sleep(BACK_OFF_MS, undefined, { signal })
    }
  }
}
