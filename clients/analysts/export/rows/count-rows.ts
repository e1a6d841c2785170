import type { FileHandle } from 'node:fs/promises'

/**
 * Counts the rows of a file that is open for reading.
 *
 * Why in the file: the server does not say how many rows it sends (to a company's analyst, for a good reason), and
 * another query for their number may find events that have changed in the meantime.
 *
 * @param bytes of the whole file
 * @returns undefined when the file is not whole, or not of this format
 */
export type CountRows = (handle: FileHandle, bytes: number) => Promise<number | undefined>

/** Reads a part of a file. @throws RangeError when the file does not have it */
type ReadPart = (at: number, length: number) => Promise<Buffer>

const readerOf =
  (handle: FileHandle, bytes: number): ReadPart =>
  async (at, length) => {
    if (at < 0 || length < 0 || at + length > bytes) throw new RangeError('not a part of the file')
    return (await handle.read(Buffer.alloc(length), 0, length, at)).buffer
  }

/**
 * Counts by a footer at the end of a file, which is before its length in four bytes and a magic text.
 *
 * @param rowsOf throws a RangeError when it reads beyond the end of something: the file is not of this format
 */
export const rowsByFooter =
  (magic: string, rowsOf: (footer: Buffer, read: ReadPart) => Promise<number | undefined>): CountRows =>
  async (handle, bytes) => {
    const read = readerOf(handle, bytes)
    try {
      const tailAt = bytes - magic.length - 4
      const tail = await read(tailAt, magic.length + 4)
      if (tail.toString('latin1', 4) !== magic) return undefined
      const length = tail.readUInt32LE()
      return await rowsOf(await read(tailAt - length, length), read)
    } catch (err) {
      if (err instanceof RangeError) return undefined
      throw err
    }
  }
