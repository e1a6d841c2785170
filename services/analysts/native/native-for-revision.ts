import { ByteReader } from './byte-reader.ts'
import { skipColumn } from './skip-column.ts'

/** From this revision on, each column has a flag for a custom serialization. */
const REVISION_WITH_CUSTOM_SERIALIZATION = 54_454

/** Field 1, `is_overflows`, is false; field 2, `bucket_num`, is -1; 0 ends the list. */
const BLOCK_INFO = Buffer.from([1, 0, 2, 255, 255, 255, 255, 0])
const NOT_CUSTOM = Buffer.from([0])

/**
 * Rewrites blocks in the format Native for a client of ClickHouse's protocol. chDB writes them in the form for files
 * (revision 0). A client of the protocol expects a header before each block, and from some revision on a flag for each
 * column. Grafana and other clients built on ClickHouse's Go driver know only that form.
 *
 * @param revision what the client asked for as client_protocol_version
 * @throws ClickHouseException for a type whose values cannot be skipped here
 */
export function nativeForRevision(bytes: Uint8Array, revision: number): Uint8Array {
  if (revision === 0) return bytes
  const reader = new ByteReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  const parts: Buffer[] = []
  while (!reader.atEnd) parts.push(...blockForRevision(reader, revision))
  return Buffer.concat(parts)
}

/**
 * Rewrites blocks as nativeForRevision does, for an answer in parts. A part may end anywhere in a block. A block is
 * kept in memory until it is complete.
 */
export async function* nativePartsForRevision(
  parts: AsyncIterable<Uint8Array>,
  revision: number,
): AsyncGenerator<Uint8Array> {
  if (revision === 0) {
    yield* parts
    return
  }
  let kept: Uint8Array[] = []
  let keptBytes = 0
  /** An attempt waits until this many bytes are kept. Why it doubles: each attempt reads the block from its start. */
  let enoughBytes = 0
  for await (const part of parts) {
    kept.push(part)
    keptBytes += part.length
    if (keptBytes < enoughBytes) continue
    const bytes = Buffer.concat(kept)
    const { rewritten, end } = completeBlocks(bytes, revision)
    if (end > 0) yield rewritten
    kept = [bytes.subarray(end)]
    keptBytes = bytes.length - end
    enoughBytes = end > 0 ? 0 : 2 * keptBytes
  }
  if (keptBytes > 0) yield nativeForRevision(Buffer.concat(kept), revision)
}

/** Rewrites the blocks that are complete. @returns them, and where the last one ended */
function completeBlocks(bytes: Buffer, revision: number): { rewritten: Buffer; end: number } {
  const reader = new ByteReader(bytes)
  const parts: Buffer[] = []
  let end = 0
  try {
    while (!reader.atEnd) {
      parts.push(...blockForRevision(reader, revision))
      end = reader.offset
    }
  } catch (err) {
    if (!(err instanceof RangeError)) throw err
  }
  return { rewritten: Buffer.concat(parts), end }
}

/** The next block of a reader, in parts. */
function blockForRevision(reader: ByteReader, revision: number): Buffer[] {
  const since = (start: number) => reader.bytes.subarray(start, reader.offset)
  const start = reader.offset
  const columns = reader.varUint()
  const rows = reader.varUint()
  const parts = [BLOCK_INFO, since(start)]
  for (let column = 0; column < columns; column++) {
    const head = reader.offset
    reader.text()
    const type = reader.text()
    parts.push(since(head))
    if (revision >= REVISION_WITH_CUSTOM_SERIALIZATION) parts.push(NOT_CUSTOM)
    const values = reader.offset
    skipColumn(reader, type, rows)
    parts.push(since(values))
  }
  return parts
}
