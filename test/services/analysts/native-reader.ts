/** The content of an answer in the format Native. */
export interface NativeAnswer {
  columns: { name: string; type: string }[]
  /** The number of rows of each block. */
  blockRows: number[]
  /** The rows in the format RowBinary, which has only one form for each type. */
  rowBinary: Buffer
}

interface Type {
  name: string
  args: Type[]
}

/**
 * Parses the format Native. The code follows only the description of ClickHouse's protocol.
 *
 * @param hasFlags whether each column has a flag for custom serialization
 * @see https://clickhouse.com/docs/native-protocol/columns
 */
export function readNative(bytes: Uint8Array, hasFlags: boolean): NativeAnswer {
  const reader = new NativeReader(Buffer.from(bytes))
  const answer: NativeAnswer = { columns: [], blockRows: [], rowBinary: Buffer.alloc(0) }
  const rows: Buffer[] = []
  while (!reader.atEnd) {
    const info = reader.take(8).toString('hex')
    if (info !== '010002ffffffff00') throw new Error(`not the head of a block: ${info}`)
    const [columnCount, rowCount] = [reader.varUint(), reader.varUint()]
    answer.columns = []
    const cells = Array.from({ length: columnCount }, () => {
      const [name, type] = [reader.text(), reader.text()]
      if (hasFlags && reader.take(1)[0] !== 0) throw new Error(`${name} is written in a way of its own`)
      answer.columns.push({ name, type })
      return reader.column(parseType(type), rowCount)
    })
    answer.blockRows.push(rowCount)
    rows.push(...joinRows(cells, rowCount))
  }
  answer.rowBinary = Buffer.concat(rows)
  return answer
}

const joinRows = (columns: readonly Buffer[][], count: number): Buffer[] =>
  Array.from({ length: count }, (_, row) => Buffer.concat(columns.map((cells) => cellOf(cells, row))))

const cellOf = (cells: readonly Buffer[], index: number): Buffer => {
  const cell = cells[index]
  if (cell === undefined) throw new RangeError(`there is no value ${index}`)
  return cell
}

class NativeReader {
  private readonly bytes: Buffer
  private at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get atEnd(): boolean {
    return this.at === this.bytes.length
  }

  take(count: number): Buffer {
    if (this.at + count > this.bytes.length) throw new RangeError('the answer is cut off')
    return this.bytes.subarray(this.at, (this.at += count))
  }

  varUint(): number {
    const byte = this.take(1).readUInt8()
    return byte < 128 ? byte : byte - 128 + 128 * this.varUint()
  }

  text(): string {
    return this.take(this.varUint()).toString()
  }

  column(type: Type, rows: number): Buffer[] {
    if (rows === 0) return []
    this.prefix(type)
    return this.cells(type, rows)
  }

  private prefix({ name, args }: Type): void {
    if (name === 'LowCardinality') this.take(8)
    else for (const arg of args) this.prefix(arg)
  }

  private cells(type: Type, rows: number): Buffer[] {
    if (rows === 0) return []
    const { name, args } = type
    const [first = { name: 'Nothing', args: [] }] = args
    if (name === 'String') return this.times(rows, () => this.string())
    if (name === 'Nullable') {
      const nulls = this.take(rows)
      return this.cells(first, rows).map((cell, row) => nullable(nulls[row] === 1 ? undefined : cell))
    }
    if (name === 'Tuple')
      return joinRows(
        args.map((arg) => this.cells(arg, rows)),
        rows,
      )
    if (name === 'Array') return this.arrays(rows, (count) => this.cells(first, count))
    if (name === 'Map')
      return this.arrays(rows, (count) =>
        joinRows(
          args.map((arg) => this.cells(arg, count)),
          count,
        ),
      )
    if (name === 'LowCardinality') return this.dictionary(first)
    const width = widthOf(type)
    return this.times(rows, () => this.take(width))
  }

  private times(count: number, read: () => Buffer): Buffer[] {
    return Array.from({ length: count }, read)
  }

  private string(): Buffer {
    const start = this.at
    this.take(this.varUint())
    return this.bytes.subarray(start, this.at)
  }

  private uint64(): number {
    return Number(this.take(8).readBigUInt64LE())
  }

  private arrays(rows: number, readElements: (count: number) => Buffer[]): Buffer[] {
    const ends = Array.from({ length: rows }, () => this.uint64())
    const elements = readElements(ends.at(-1) ?? 0)
    return ends.map((end, row) => {
      const own = elements.slice(ends[row - 1] ?? 0, end)
      return Buffer.concat([varUintOf(own.length), ...own])
    })
  }

  private dictionary(type: Type): Buffer[] {
    const width = 2 ** (this.uint64() & 0xff)
    const isNullable = type.name === 'Nullable'
    const keys = this.cells(isNullable ? (type.args[0] ?? type) : type, this.uint64())
    return this.times(this.uint64(), () => {
      const key = this.take(width).readUIntLE(0, Math.min(width, 6))
      return isNullable ? nullable(key === 0 ? undefined : cellOf(keys, key)) : cellOf(keys, key)
    })
  }
}

const nullable = (cell: Buffer | undefined): Buffer =>
  cell === undefined ? Buffer.from([1]) : Buffer.concat([Buffer.from([0]), cell])

function varUintOf(value: number): Buffer {
  const bytes: number[] = []
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) + 128)
  return Buffer.from([...bytes, value])
}

const WIDTHS: Readonly<Record<string, number>> = {
  Bool: 1,
  Nothing: 1,
  Enum8: 1,
  Enum16: 2,
  Date: 2,
  Date32: 4,
  DateTime: 4,
  Time: 4,
  DateTime64: 8,
  Time64: 8,
  UUID: 16,
  IPv4: 4,
  IPv6: 16,
}

function widthOf({ name, args }: Type): number {
  const [, bits] = /^(?:U?Int|B?Float)(\d+)$/.exec(name) ?? []
  if (bits !== undefined) return Number(bits) / 8
  if (name === 'FixedString') return Number(args[0]?.name)
  if (name === 'Decimal') return 4 * 2 ** [9, 18, 38, 76].findIndex((most) => Number(args[0]?.name) <= most)
  const width = name.startsWith('Interval') ? 8 : WIDTHS[name]
  if (width === undefined) throw new Error(`${name} is not a type that this reader knows`)
  return width
}

/** `Tuple(a UInt8, b Enum8('x' = 1))`: names of elements are removed, other arguments stay unchanged. */
function parseType(text: string): Type {
  const tokens = text.match(/'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|[\w.-]+|[(),=]/g) ?? []
  let next = 0
  const parse = (): Type => {
    let name = ''
    while (next < tokens.length && !['(', ')', ','].includes(tokens[next] ?? '')) name = tokens[next++] ?? ''
    const args: Type[] = []
    if (tokens[next] === '(')
      do {
        next++
        args.push(parse())
      } while (tokens[next] === ',')
    if (args.length > 0) next++ // the closing bracket
    return { name, args }
  }
  return parse()
}
