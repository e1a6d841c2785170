import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readFreeBytes } from '../../shared/lifecycle/disk-space.ts'
import { repeat } from '../../shared/lifecycle/repeat.ts'
import { ClickHouseException } from './exception.ts'

/** A statement that writes its answer to a file. */
interface WrittenAnswer {
  /** Runs the statement. The file exists and is empty. */
  write: (file: string) => Promise<void>
  /** Ends the statement. It is called repeatedly, until the statement has ended. */
  end: () => Promise<void>
  /** Whether nothing is sent before the whole answer is there. */
  isWhole: boolean
  /** Is called when the first bytes are there, and reads them all. */
  send: (bytes: AsyncIterable<Buffer>) => Promise<void>
}

/** An answer that the engine has written, or could not write. */
export interface PassedAnswer {
  /** Is done when the answer is sent. Fails when nothing was sent, with the engine's error, and when `send` fails. */
  sent: Promise<void>
}

/** The folder of answers on their way from the engine to clients. */
export interface AnswerFolder {
  /** Sends an answer while the engine writes it. Is done when the engine is. */
  pass(answer: WrittenAnswer): Promise<PassedAnswer>
}

/** The largest answer on disk. Text can be much longer than the values that the engine counts. */
const FILE_BYTES_MAX = 1_024 * 1_024 * 1_024
/** With less, no answer grows: the databases on the same disk need the rest. */
const FREE_BYTES_MIN = 1_000_000_000
const CHUNK_BYTES = 256 * 1_024
/** Nothing is sent of a shorter answer until it is complete, so that its error has a status and a text of its own. */
const FIRST_BYTES = CHUNK_BYTES
const LOOK_AGAIN_MS = 10
const CHECK_SIZE_MS = 100

/**
 * Opens the folder, and empties it: what a crashed process left is of no use.
 *
 * Why files, and not the stream that chDB offers: it plans the query on the event loop, and gives each part of an answer
 * as a document of its own, with a header or a footer (docs/decisions/0039-answers-through-files.md). Clients that read
 * slowly do not slow down the engine.
 */
export async function openAnswerFolder(
  folder: string,
  bytesMax = FILE_BYTES_MAX,
  readFree = readFreeBytes,
): Promise<AnswerFolder> {
  const isTooMuch = async (bytes: number) => bytes > bytesMax || (await readFree(folder)) < FREE_BYTES_MIN
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return {
    async pass(answer) {
      const file = path.join(folder, randomUUID())
      const handle = await open(file, 'wx+', 0o600)
      return passFile(file, handle, answer, { bytesMax, isTooMuch })
    },
  }
}

async function passFile(
  file: string,
  handle: FileHandle,
  { write, end, isWhole, send }: WrittenAnswer,
  { bytesMax, isTooMuch }: { bytesMax: number; isTooMuch: (bytes: number) => Promise<boolean> },
): Promise<PassedAnswer> {
  const over = new AbortController()
  const isWritten = over.signal
  let isTooLarge = false
  const endIfTooLarge = async () => {
    isTooLarge ||= await isTooMuch((await handle.stat()).size)
    if (isTooLarge) await end()
  }
  const watching = repeat('watch of an answer', CHECK_SIZE_MS, endIfTooLarge, () => undefined) // it looks again
  const written = write(file)
    .catch((err: unknown) => {
      throw isTooLarge ? tooLarge(bytesMax) : withoutPath(err, file)
    })
    .finally(() => {
      over.abort()
    })
  const sendWhenThere = async () => {
    if (isWhole) await written
    else await firstBytes(handle, isWritten)
    if (isWritten.aborted) await written // of an answer that failed before anything was sent, only the error is sent
    await send(bytesOf(handle, written, isWritten))
  }
  const ended = Promise.allSettled([written]).then(() => watching.close())
  const sent = sendWhenThere().finally(async () => {
    await ended // the file must not go before its writer
    await handle.close()
    await rm(file, { force: true })
  })
  sent.catch(() => undefined) // the caller gets the error, perhaps later
  await ended
  return { sent }
}

/** Waits for enough bytes, or for all of them. */
async function firstBytes(handle: FileHandle, isWritten: AbortSignal): Promise<void> {
  while (!isWritten.aborted && (await handle.stat()).size < FIRST_BYTES) await pause(LOOK_AGAIN_MS, isWritten)
}

/** What is in the file, and what is added until it is written. It throws what `written` is rejected with. */
async function* bytesOf(
  handle: FileHandle,
  written: Promise<void>,
  isWritten: AbortSignal,
): AsyncGenerator<Buffer> {
  for (;;) {
    const isComplete = isWritten.aborted
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, null)
    if (bytesRead > 0) yield buffer.subarray(0, bytesRead)
    else if (isComplete) break
    else await pause(LOOK_AGAIN_MS, isWritten)
  }
  await written
}

/** Waits, at most until the signal. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined)

const tooLarge = (bytesMax: number): ClickHouseException =>
  new ClickHouseException(
    'TOO_MANY_ROWS_OR_BYTES',
    `the answer is larger than ${bytesMax} bytes, or than the disk has room for.`,
  )

/** An error of the engine about the file names it; analysts must not see where Tally keeps its files. */
const withoutPath = (err: unknown, file: string): unknown =>
  err instanceof Error && err.message.includes(file)
    ? new Error(err.message.replaceAll(file, 'the answer'), { cause: err })
    : err
