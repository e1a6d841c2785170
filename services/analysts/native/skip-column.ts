import { ClickHouseException } from '../exception.ts'
import type { ByteReader } from './byte-reader.ts'
import { parseType } from './type-tree.ts'

const BYTES: Readonly<Record<string, number>> = {
  Bool: 1,
  Int8: 1,
  UInt8: 1,
  Enum8: 1,
  Nothing: 1,
  Int16: 2,
  UInt16: 2,
  Enum16: 2,
  BFloat16: 2,
  Date: 2,
  Int32: 4,
  UInt32: 4,
  Float32: 4,
  Date32: 4,
  DateTime: 4,
  Time: 4,
  IPv4: 4,
  Int64: 8,
  UInt64: 8,
  Float64: 8,
  DateTime64: 8,
  Time64: 8,
  Int128: 16,
  UInt128: 16,
  UUID: 16,
  IPv6: 16,
  Int256: 32,
  UInt256: 32,
}

/**
 * Skips the values of a column in the format Native.
 *
 * @throws ClickHouseException when it is not known how values of the type are written
 */
export function skipColumn(reader: ByteReader, type: string, rows: number): void {
  if (rows === 0) return
  skipPrefix(reader, type)
  skipValues(reader, type, rows)
}

/** Skips what a column begins with: the version of each dictionary in it. */
function skipPrefix(reader: ByteReader, type: string): void {
  const { name, args } = parseType(type)
  if (name === 'LowCardinality') reader.skip(8)
  else if (['Array', 'Nullable', 'Tuple', 'Map'].includes(name))
    for (const arg of args) skipPrefix(reader, arg)
}

function skipValues(reader: ByteReader, type: string, rows: number): void {
  if (rows === 0) return
  const { name, args } = parseType(type)
  const [first = '', second = ''] = args
  const bytes = bytesOf(name, first)
  if (bytes !== undefined) {
    reader.skip(bytes * rows)
    return
  }
  switch (name) {
    case 'String':
      for (let row = 0; row < rows; row++) reader.skip(reader.varUint())
      break
    case 'Nullable':
      reader.skip(rows)
      skipValues(reader, first, rows)
      break
    case 'Array':
      skipValues(reader, first, skipOffsets(reader, rows))
      break
    case 'Map': {
      const entries = skipOffsets(reader, rows)
      skipValues(reader, first, entries)
      skipValues(reader, second, entries)
      break
    }
    case 'Tuple':
      if (args.length === 0) throw unknown(type)
      for (const arg of args) skipValues(reader, arg, rows)
      break
    case 'LowCardinality':
      skipDictionary(reader, first)
      break
    default:
      throw unknown(type)
  }
}

function bytesOf(name: string, first: string): number | undefined {
  if (name === 'FixedString') return Number(first)
  if (name.startsWith('Interval')) return 8
  if (name !== 'Decimal') return BYTES[name]
  const precision = Number(first)
  return precision <= 9 ? 4 : precision <= 18 ? 8 : precision <= 38 ? 16 : 32
}

/** Skips the offsets at which arrays end. The last offset is the number of elements in all arrays together. */
function skipOffsets(reader: ByteReader, rows: number): number {
  reader.skip(8 * (rows - 1))
  return reader.uint64()
}

const HAS_KEYS = 1 << 9

function skipDictionary(reader: ByteReader, type: string): void {
  const flags = reader.uint64()
  if ((flags & HAS_KEYS) !== 0)
    skipValues(reader, /^Nullable\((.*)\)$/s.exec(type)?.[1] ?? type, reader.uint64())
  const width = 2 ** (flags & 255)
  reader.skip(reader.uint64() * width)
}

const unknown = (type: string): ClickHouseException =>
  new ClickHouseException(
    'NOT_IMPLEMENTED',
    `The format Native is not supported for the type ${type} here: convert it, for example with toString.`,
  )
