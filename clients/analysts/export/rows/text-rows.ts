import type { CountRows } from './count-rows.ts'

const CHUNK_BYTES = 1 << 20
const NEWLINE = 0x0a
const QUOTE = 0x22

/** How rows are lines of a text. */
interface Lines {
  /** Whether the first line has the names of the columns. */
  hasHeader: boolean
  /** Whether a line may have newlines within quotes. A quote within is written twice. */
  hasQuotes: boolean
}

/** Counts the rows of a text: each ends with a newline. */
export const textRows =
  ({ hasHeader, hasQuotes }: Lines): CountRows =>
  async (handle, bytes) => {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
    let lines = 0
    let isQuoted = false
    let last = NEWLINE
    for (let at = 0; at < bytes;) {
      const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, at)
      if (bytesRead === 0) return undefined
      for (let i = 0; i < bytesRead; i++) {
        const byte = chunk[i] ?? 0
        if (byte === NEWLINE && !isQuoted) lines++
        else if (byte === QUOTE && hasQuotes) isQuoted = !isQuoted
        last = byte
      }
      at += bytesRead
    }
    if (isQuoted || last !== NEWLINE) return undefined
    if (!hasHeader) return lines
    return lines === 0 ? undefined : lines - 1
  }
