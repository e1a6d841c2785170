import { setTimeout as sleep } from 'node:timers/promises'
import type { LogConsumer, Position } from '../../shared/event-log/event-log.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { batchGatherer, type Batch, type BatchLimits } from './gather-batch.ts'
import type { Block } from './read-record.ts'
import { storeBlocks, type StoreBlocksDeps } from './store-blocks.ts'

export interface LoadUsageDeps extends Pick<StoreBlocksDeps, 'insertLines' | 'bury'> {
  consumer: LogConsumer
  log: Logger
}

const BACK_OFF_MS = 500

/**
 * Moves usage from the event log into ClickHouse for as long as it is not closed. The offset is committed last: a crash
 * in between replays the batch, and the table collapses the rows of one event; the other order would lose them.
 *
 * The next batch is gathered while one is stored. When ClickHouse is away both wait, so memory stays bounded.
 */
export function loadUsage(deps: LoadUsageDeps, limits: BatchLimits): Closeable {
  const stopping = new AbortController()
  const { signal } = stopping
  const gather = batchGatherer(deps.consumer, limits, deps.log)
  const run = async () => {
    let storing = Promise.resolve()
    while (!signal.aborted) {
      const batch = await gather(signal)
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

/** Stores a batch for good: rows and dead letters first, the offsets last. Gives up only in trouble when told to stop. */
async function store(batch: Batch, deps: LoadUsageDeps, signal: AbortSignal): Promise<void> {
  const { consumer, log } = deps
  const positions: Position[] = [...batch.positions].map(([partition, offset]) => ({ partition, offset }))
  const bury = (line: Block, reason: string) => untilDone(() => deps.bury(line, reason), log, signal)
  try {
    await storeBlocks(batch.blocks, { ...deps, bury, signal })
    for (const { at, reason } of batch.rejected) {
      const { partition, offset, line } = at
      // Without the reason, which may quote what the line says.
      log.error({ partition, offset, line }, 'a line was sent to the dead letters')
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
