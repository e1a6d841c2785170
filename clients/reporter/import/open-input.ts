import { createReadStream } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { addAbortSignal, pipeline, type Readable, Transform, type TransformCallback } from 'node:stream'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'

/** The bytes to import. */
export interface Input {
  stream: Readable
  /** The length of the input; undefined when it cannot be known, as for a pipe. */
  bytesTotal: number | undefined
}

const CHUNK_BYTES = 256 * 1_024

/**
 * Opens a file, or standard input.
 *
 * @param file an absolute path, or `-`
 * @param signal ends the stream when it is aborted
 * @param onBytes called with the number of bytes at each read
 * @throws StartupError when there is no such file
 */
export async function openInput(
  file: string,
  standardInput: Readable,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<Input> {
  const bytesTotal = file === '-' ? undefined : await sizeOf(file)
  const source = file === '-' ? standardInput : createReadStream(file, { highWaterMark: CHUNK_BYTES })
  let bytes = 0
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, callback: TransformCallback) {
      const fault = bytes === 0 && isUtf16(chunk)
      bytes += chunk.length
      onBytes(chunk.length)
      if (fault) callback(new UsageError('the input is UTF-16: convert it to UTF-8'))
      else callback(null, chunk)
    },
  })
  addAbortSignal(signal, counter)
  pipeline(source, counter, () => undefined) // errors of the source reach the reader through the counter
  return { stream: counter, bytesTotal }
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    const info = await stat(file)
    if (info.isDirectory()) throw new StartupError(`${file} is a folder: --file takes one file`)
    await access(file, constants.R_OK)
    return info.isFile() ? info.size : undefined
  } catch (err) {
    if (err instanceof StartupError) throw err
    const isMissing = err instanceof Error && 'code' in err && err.code === 'ENOENT'
    throw new StartupError(`cannot read ${file}: ${isMissing ? 'there is no such file' : String(err)}`, {
      cause: err,
    })
  }
}

/** Whether the byte order mark is one of UTF-16. */
const isUtf16 = (start: Buffer): boolean =>
  start.length >= 2 && [0xfeff, 0xfffe].includes(start.readUInt16BE(0))
