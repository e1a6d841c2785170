import type { Readable } from 'node:stream'

const NEWLINE = 0x0a

/**
 * Cuts a stream of bytes into lines without their LF.
 *
 * Why not node:readline: it also ends lines at U+2028 and U+2029, which are valid in JSON text.
 *
 * @param bytesMax a longer line is returned as undefined, and takes no more memory than this many bytes
 */
export async function* splitStream(input: Readable, bytesMax: number): AsyncGenerator<Buffer | undefined> {
  let parts: Buffer[] = []
  let bytes = 0
  const take = (part: Buffer) => {
    bytes += part.length
    if (bytes > bytesMax) parts = []
    else parts.push(part)
  }
  const finish = () => {
    const line = bytes > bytesMax ? undefined : Buffer.concat(parts)
    parts = []
    bytes = 0
    return line
  }
  for await (const chunk of input as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end))
      yield finish()
      start = end + 1
    }
    take(chunk.subarray(start))
  }
  if (bytes > 0) yield finish()
}
