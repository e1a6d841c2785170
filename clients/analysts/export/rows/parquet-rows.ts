import { rowsByFooter } from './count-rows.ts'

/** Types of Thrift's compact protocol. */
const STOP = 0
const TRUE = 1
const FALSE = 2
const I64 = 6
const BYTES_OF: Readonly<Record<number, number>> = { 3: 1, 7: 8 }
const VARINTS = [4, 5, I64]
const BINARY = 8
const LISTS = [9, 10]
const STRUCT = 12

/** The number of a footer's field that has the number of rows (FileMetaData in parquet.thrift). */
const NUM_ROWS = 3

/** Reads values one after the other. */
interface Cursor {
  byte(): number
  varint(): number
  /** @throws RangeError when there are not as many bytes */
  pass(bytes: number): void
}

function cursorOf(bytes: Buffer): Cursor {
  let at = 0
  const byte = () => bytes.readUInt8(at++)
  return {
    byte,
    varint() {
      for (let value = 0, scale = 1; ; scale *= 128) {
        const part = byte()
        value += (part & 127) * scale
        if (part < 128) return value
      }
    },
    pass(length) {
      at += length
      if (at > bytes.length) throw new RangeError('the footer ends before its values')
    },
  }
}

/** Counts the rows of a Parquet file: its footer has their number. */
export const parquetRows = rowsByFooter('PAR1', (footer) => Promise.resolve(rowsOf(cursorOf(footer))))

function rowsOf(footer: Cursor): number | undefined {
  for (const [field, type] of fieldsOf(footer)) {
    if (field === NUM_ROWS) return type === I64 ? footer.varint() / 2 : undefined // a positive number is doubled
    skip(footer, type)
  }
  return undefined
}

/** The fields of a struct. The value of each must be read before the next one. */
function* fieldsOf(at: Cursor): Generator<[field: number, type: number]> {
  for (let field = 0; ;) {
    const head = at.byte()
    const type = head & 15
    if (type === STOP) return
    field = head >> 4 === 0 ? at.varint() / 2 : field + (head >> 4)
    yield [field, type]
  }
}

function skip(at: Cursor, type: number, isInList = false): void {
  if (type === TRUE || type === FALSE) at.pass(isInList ? 1 : 0)
  else if (VARINTS.includes(type)) at.varint()
  else if (type === BINARY) at.pass(at.varint())
  else if (LISTS.includes(type)) skipList(at)
  else if (type === STRUCT) for (const [, inner] of fieldsOf(at)) skip(at, inner)
  else if (BYTES_OF[type] === undefined) throw new RangeError(`no type of a Parquet footer: ${type}`)
  else at.pass(BYTES_OF[type])
}

function skipList(at: Cursor): void {
  const head = at.byte()
  const size = head >> 4 === 15 ? at.varint() : head >> 4
  for (let n = 0; n < size; n++) skip(at, head & 15, true)
}
