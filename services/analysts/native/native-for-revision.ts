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
 * @throws ClickHouseException for a type that can be written in several ways
 */
export function nativeForRevision(bytes: Uint8Array, revision: number): Uint8Array {
  if (revision === 0) return bytes
  const reader = new ByteReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  const parts: Buffer[] = []
  const since = (start: number) => reader.bytes.subarray(start, reader.offset)
  while (!reader.atEnd) {
    const start = reader.offset
    const columns = reader.varUint()
    const rows = reader.varUint()
    parts.push(BLOCK_INFO, since(start))
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
  }
  return Buffer.concat(parts)
}
