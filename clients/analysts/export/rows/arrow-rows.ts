import { rowsByFooter } from './count-rows.ts'

/** Numbers of fields in File.fbs and Message.fbs of Arrow. */
const FOOTER_RECORD_BATCHES = 3
const MESSAGE_HEADER = 2
const BATCH_LENGTH = 0

/** A place of a batch in the file: offset, length of its metadata, length of its body. */
const BLOCK_BYTES = 24
const LENGTH_OF_METADATA = 8
const CONTINUATION = 0xffff_ffff

/** Counts the rows of an Arrow file: its footer has the places of its batches, and each batch begins with its rows. */
export const arrowRows = rowsByFooter('ARROW1', async (footer, read) => {
  const batches = fieldOf(footer, follow(footer, 0), FOOTER_RECORD_BATCHES)
  if (batches === undefined) return 0
  const list = follow(footer, batches)
  let rows = 0
  for (let n = 0; n < footer.readUInt32LE(list); n++) {
    const block = list + 4 + n * BLOCK_BYTES
    const offset = Number(footer.readBigInt64LE(block))
    rows += rowsOfBatch(await read(offset, footer.readInt32LE(block + LENGTH_OF_METADATA)))
  }
  return rows
})

function rowsOfBatch(message: Buffer): number {
  const start = message.readUInt32LE() === CONTINUATION ? 8 : 4
  const header = fieldOf(message, follow(message, start), MESSAGE_HEADER)
  if (header === undefined) throw new RangeError('a message without a header')
  const length = fieldOf(message, follow(message, header), BATCH_LENGTH)
  return length === undefined ? 0 : Number(message.readBigInt64LE(length))
}

/** Follows an offset of a FlatBuffer, which counts from its own place. */
const follow = (bytes: Buffer, at: number): number => at + bytes.readUInt32LE(at)

/** Where a field of a table is in a FlatBuffer; undefined when it has its default. */
function fieldOf(bytes: Buffer, table: number, field: number): number | undefined {
  const layout = table - bytes.readInt32LE(table)
  const slot = 4 + 2 * field
  const offset = slot < bytes.readUInt16LE(layout) ? bytes.readUInt16LE(layout + slot) : 0
  return offset === 0 ? undefined : table + offset
}
