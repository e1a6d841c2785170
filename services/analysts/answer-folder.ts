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
  /** Whether sending begins only when the whole answer is written. */
  isWhole: boolean
  /** Called when the first bytes are written. It reads all bytes, also those that are written later. */
  send: (bytes: AsyncIterable<Buffer>) => Promise<void>
}

/** An answer that the engine has written, or could not write. */
export interface PassedAnswer {
  /** Resolves when the answer is sent. Rejects with the engine's error if nothing was sent, and if `send` fails. */
  sent: Promise<void>
}

/** The folder for answers that the engine has written and clients have not read yet. */
export interface AnswerFolder {
  /** Sends an answer while the engine writes it. Resolves when the engine is done. */
  pass(answer: WrittenAnswer): Promise<PassedAnswer>
}

/** The largest answer on disk. Text can be much longer than the values that the engine counts. */
const FILE_BYTES_MAX = 1_024 * 1_024 * 1_024
/** If the disk has less free space, answers are ended: the databases on the same disk need it. */
const FREE_BYTES_MIN = 1_000_000_000
const CHUNK_BYTES = 256 * 1_024
/** A shorter answer is sent only when it is complete. So if it fails, its client gets an error with its HTTP status. */
const FIRST_BYTES = CHUNK_BYTES
const LOOK_AGAIN_MS = 10
const CHECK_SIZE_MS = 100

/**
 * Opens the folder, and deletes the files that a crashed process left in it.
 *
 * Why files, and not the stream that chDB offers: chDB would plan the query on the event loop, and give each part of an
 * answer its own header and footer (docs/decisions/0039-answers-through-files.md). With files, clients that read slowly
 * do not slow down the engine.
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
  const watching = repeat('watch of an answer', CHECK_SIZE_MS, endIfTooLarge, () => undefined) // it tries again
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
    if (isWritten.aborted) await written // if it failed before anything was sent, only the error is sent
    await send(bytesOf(handle, written, isWritten))
  }
  const ended = Promise.allSettled([written]).then(() => watching.close())
  const sent = sendWhenThere().finally(async () => {
    await ended // the file must stay until the engine has finished with it
    await handle.close()
    await rm(file, { force: true })
  })
  sent.catch(() => undefined) // the caller gets the error, perhaps later
  await ended
  return { sent }
}

/** Waits until enough bytes are written to begin, or all of them. */
async function firstBytes(handle: FileHandle, isWritten: AbortSignal): Promise<void> {
  while (!isWritten.aborted && (await handle.stat()).size < FIRST_BYTES) await pause(LOOK_AGAIN_MS, isWritten)
}

/** Yields the bytes in the file, and those that are added, until all is written. Throws the error of `written`. */
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

/** Waits, but not longer than until the signal is aborted. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined)

const tooLarge = (bytesMax: number): ClickHouseException =>
  new ClickHouseException(
    'TOO_MANY_ROWS_OR_BYTES',
    `the answer is larger than ${bytesMax} bytes, or the disk has no room for it.`,
  )

/** Removes the path of the file from an error: analysts must not see where Tally keeps its files. */
const withoutPath = (err: unknown, file: string): unknown =>
  err instanceof Error && err.message.includes(file)
    ? new Error(err.message.replaceAll(file, 'the answer'), { cause: err })
    : err
