import { ByteReader } from './byte-reader.ts'
import { skipColumn } from './skip-column.ts'

/** From this revision on, each column says whether it is written in a way of its own. */
const REVISION_WITH_CUSTOM_SERIALIZATION = 54_454

/** `is_overflows` is field 1 and false, `bucket_num` is field 2 and -1, 0 ends the list. */
const BLOCK_INFO = Buffer.from([1, 0, 2, 255, 255, 255, 255, 0])
const NOT_CUSTOM = Buffer.from([0])

/**
 * Rewrites blocks in the format Native, which chDB writes as into a file (revision 0), to what a client of ClickHouse's
 * protocol reads: each block has a head, and each column a flag. Grafana and other clients that build on ClickHouse's
 * Go driver know no other form.
 *
 * @param revision what the client asked for as client_protocol_version
 * @throws ClickHouseException when a type is in it that is written in several ways
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
