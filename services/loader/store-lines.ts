import { setTimeout as sleep } from 'node:timers/promises'
import { findDataFault } from '../../shared/clickhouse/data-fault.ts'
import type { Logger } from '../../shared/logging/logger.ts'

/** Where a line lies in the log, so that a dead letter can say so. */
export interface PlacedLine {
  partition: number
  offset: number
  line: number
  bytes: Buffer
}

export interface StoreLinesDeps {
  /** Stores lines, all of them or none. */
  insertLines: (lines: Buffer) => Promise<void>
  /** Keeps one line that ClickHouse does not take. */
  bury: (line: PlacedLine, reason: string) => Promise<void>
  log: Logger
  /** Ends waiting after a failed attempt; the lines come again after the next start. */
  signal: AbortSignal
}

const NEWLINE = 0x0a

const BACK_OFF_FIRST_MS = 100
const BACK_OFF_MAX_MS = 5_000

/**
 * Stores lines, however long that takes: it tries again for ever while ClickHouse is in trouble, and halves a batch that
 * holds a line which ClickHouse does not take until that one line is buried. It never drops one.
 *
 * @throws AbortError when it is told to stop while ClickHouse is in trouble
 */
export async function storeLines(lines: readonly PlacedLine[], deps: StoreLinesDeps): Promise<void> {
  if (lines.length === 0) return
  const fault = await tryUntilSettled(lines, deps)
  if (fault === undefined) return
  const [only] = lines
  if (only !== undefined && lines.length === 1) {
    deps.log.error({ ...placeOf(only), reason: fault }, 'a usage event was sent to the dead letters')
    await deps.bury(only, fault)
    return
  }
  const half = Math.ceil(lines.length / 2)
  await storeLines(lines.slice(0, half), deps)
  await storeLines(lines.slice(half), deps)
}

/** Inserts until it took, or until the data is found to be at fault; then it gives the fault. */
async function tryUntilSettled(
  lines: readonly PlacedLine[],
  deps: StoreLinesDeps,
): Promise<string | undefined> {
  const { insertLines, log, signal } = deps
  const block = joinLines(lines)
  for (let waitMs = BACK_OFF_FIRST_MS; ; waitMs = Math.min(waitMs * 2, BACK_OFF_MAX_MS)) {
    try {
      await insertLines(block)
      return undefined
    } catch (err) {
      const fault = findDataFault(err)
      if (fault !== undefined) return fault
      log.warn({ err, rows: lines.length, waitMs }, 'ClickHouse did not take a batch, trying again')
      await sleep(waitMs, undefined, { signal })
    }
  }
}

function joinLines(lines: readonly PlacedLine[]): Buffer {
  const block = Buffer.allocUnsafe(lines.reduce((sum, { bytes }) => sum + bytes.length + 1, 0))
  let end = 0
  for (const { bytes } of lines) {
    end += bytes.copy(block, end)
    block[end++] = NEWLINE
  }
  return block
}

const placeOf = ({ partition, offset, line }: PlacedLine) => ({ partition, offset, line })
