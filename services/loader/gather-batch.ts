import { setTimeout as sleep } from 'node:timers/promises'
import type { LogConsumer, LogRecord, PollLimits } from '../../shared/event-log/event-log.ts'
import { yielder } from '../../shared/lifecycle/yielder.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import { type Block, readRecord, type RejectedLogLine } from './read-record.ts'

/** A batch is stored when it reaches one of these limits. It may exceed them, because records are not split. */
export interface BatchLimits {
  batchRowsMax: number
  /** A batch is stored when it has at least this many bytes. */
  batchBytesMax: number
  /** A batch is stored when its first row is this old, and the previous batch is stored. */
  flushMs: number
}

/** Records that are stored together. */
export interface Batch {
  blocks: Block[]
  rejected: RejectedLogLine[]
  rows: number
  bytes: number
  /** The times at which the first and the last of the batch's events were accepted. */
  oldestAt: Micros
  newestAt: Micros
  /** For each partition, the next offset after this batch. */
  positions: Map<number, number>
}

/** How long one read of the log waits for records when no batch is being stored. */
const IDLE_WAIT_MS = 200
/** How long one read waits while a batch is stored. It is shorter, so that the next batch follows soon. */
const BUSY_WAIT_MS = 50
const BACK_OFF_MS = 500

/**
 * Makes batches of the records that the log returns.
 *
 * @param isStoring whether a batch is being stored. During that time the next batch grows, because a large batch costs
 *   less per row
 * @returns a function that gives the next batch. The batch is empty when `signal` aborted or the log cannot be read now
 */
export function batchGatherer(
  consumer: Pick<LogConsumer, 'poll'>,
  limits: BatchLimits,
  log: Logger,
  isStoring: () => boolean,
): (signal: AbortSignal) => Promise<Batch> {
  /**
   * Records that the log returned and that are in no batch yet. They are never dropped, because the log does not return
   * them again.
   */
  let ahead: LogRecord[] = []
  const poll = loggedOnce(consumer, log)
  const isFull = ({ rows, bytes }: Batch) => rows >= limits.batchRowsMax || bytes >= limits.batchBytesMax
  const fill = async (batch: Batch) => {
    const yielding = yielder()
    for (
      let record = ahead.shift();
      record !== undefined;
      record = isFull(batch) ? undefined : ahead.shift()
    ) {
      add(batch, record)
      if (yielding.isDue()) await yielding.yieldToOthers()
    }
  }
  return async (signal) => {
    const batch: Batch = {
      blocks: [],
      rejected: [],
      rows: 0,
      bytes: 0,
      oldestAt: Infinity,
      newestAt: 0,
      positions: new Map(),
    }
    let flushAt = Infinity
    while (!signal.aborted && !isFull(batch) && (performance.now() < flushAt || isStoring())) {
      if (ahead.length === 0) {
        const waitMs = Math.min(
          IDLE_WAIT_MS,
          Math.max(isStoring() ? BUSY_WAIT_MS : 0, flushAt - performance.now()),
        )
        const read = await poll({ bytesMax: limits.batchBytesMax - batch.bytes, waitMs })
        if (read === undefined) {
          if (batch.positions.size === 0)
            await sleep(BACK_OFF_MS, undefined, { signal }).catch(() => undefined)
          break // store the gathered records first: a commit of later ones would skip them
        }
        ahead = read
      }
      if (ahead.length > 0) flushAt = Math.min(flushAt, performance.now() + limits.flushMs)
      await fill(batch)
    }
    return batch
  }
}

/**
 * Returns a function that gives the next records, or undefined when the log cannot be read now. It logs the first
 * failure as a warning, and the first success after it.
 */
function loggedOnce(
  consumer: Pick<LogConsumer, 'poll'>,
  log: Logger,
): (limits: PollLimits) => Promise<LogRecord[] | undefined> {
  let isAway = false
  return async (limits) => {
    try {
      const records = await consumer.poll(limits)
      if (isAway) log.info('the event log can be read again')
      isAway = false
      return records
    } catch (err) {
      log[isAway ? 'debug' : 'warn']({ err }, 'could not read the event log, trying again')
      isAway = true
      return undefined
    }
  }
}

function add(batch: Batch, record: LogRecord): void {
  const { blocks, rejected } = readRecord(record)
  batch.blocks.push(...blocks)
  batch.rejected.push(...rejected)
  batch.rows += rejected.length + blocks.reduce((sum, { subjects }) => sum + subjects.length, 0)
  batch.bytes += record.value.length
  batch.oldestAt = Math.min(batch.oldestAt, record.acceptedAt)
  batch.newestAt = Math.max(batch.newestAt, record.acceptedAt)
  batch.positions.set(record.partition, record.offset + 1)
}
