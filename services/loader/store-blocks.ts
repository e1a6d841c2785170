import { setTimeout as sleep } from 'node:timers/promises'
import { type DataFault, findDataFault } from '../../shared/clickhouse/events/data-fault.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { LogLineSubject } from '../../shared/usage-lines/log-line-subjects.ts'
import type { LoaderPoint } from './crash-points.ts'
import { type Block, linesOf } from './read-record.ts'

export interface StoreBlocksDeps {
  /** Stores lines, all of them or none. When it throws, all of them may still be stored. */
  storeLines: (lines: Buffer, subjects: readonly LogLineSubject[]) => Promise<void>
  /** Makes a dead letter of a line, because ClickHouse refuses the line. */
  deadLetter: (line: Block, reason: string) => Promise<void>
  log: Logger
  /** Aborting it ends the wait after a failed attempt. The lines are read again after the next start. */
  signal: AbortSignal
  reached?: Reached<LoaderPoint>
}

const NEWLINE = 0x0a

const BACK_OFF_FIRST_MS = 100
const BACK_OFF_MAX_MS = 5_000

/**
 * Stores lines, however long that takes. It repeats an insert while ClickHouse fails or does not answer. A batch with a
 * line that ClickHouse refuses is halved until that line is alone. Then the line goes to the dead letters. No line is
 * ever dropped.
 *
 * @throws AbortError when `signal` aborts after an insert has failed
 */
export async function storeBlocks(blocks: readonly Block[], deps: StoreBlocksDeps): Promise<void> {
  const [first] = blocks
  if (first === undefined) return
  const fault = await tryUntilSettled(blocks, deps)
  if (fault === undefined) return
  const parts = blocks.length === 1 ? linesOf(first) : blocks
  const [only] = parts
  if (only !== undefined && parts.length === 1) {
    const { partition, offset, line } = only
    const { code, type, reason } = fault
    deps.log.error(
      { partition, offset, line, code, type },
      'ClickHouse refuses a line: the line goes to the dead letters',
    )
    await deps.deadLetter(only, reason)
    return
  }
  const half = Math.ceil(parts.length / 2)
  await storeBlocks(parts.slice(0, half), deps)
  deps.reached?.('loader-inserting')
  await storeBlocks(parts.slice(half), deps)
}

/** Repeats an insert until ClickHouse stores the lines, or refuses them because of the data. Returns the fault then. */
async function tryUntilSettled(
  blocks: readonly Block[],
  deps: StoreBlocksDeps,
): Promise<DataFault | undefined> {
  const { storeLines, log, signal } = deps
  const lines = joinBlocks(blocks)
  const subjects = blocks.flatMap((block) => block.subjects)
  for (let waitMs = BACK_OFF_FIRST_MS; ; waitMs = Math.min(waitMs * 2, BACK_OFF_MAX_MS)) {
    try {
      await storeLines(lines, subjects)
      return undefined
    } catch (err) {
      const fault = findDataFault(err)
      if (fault !== undefined) return fault
      log.warn(
        { err: loggableError(err), bytes: lines.length, waitMs },
        'ClickHouse did not take a batch, trying again',
      )
      await sleep(waitMs, undefined, { signal })
    }
  }
}

/** Joins the bytes of blocks, with a line end after each. */
function joinBlocks(blocks: readonly Block[]): Buffer {
  const joined = Buffer.allocUnsafe(blocks.reduce((sum, { bytes }) => sum + bytes.length + 1, 0))
  let end = 0
  for (const { bytes } of blocks) {
    end += bytes.copy(joined, end)
    if (bytes.at(-1) !== NEWLINE) joined[end++] = NEWLINE
  }
  return joined.subarray(0, end)
}
