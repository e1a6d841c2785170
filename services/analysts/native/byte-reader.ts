/** Reads bytes in order. Each step checks that it does not go beyond their end. */
export class ByteReader {
  readonly bytes: Buffer
  offset = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get atEnd(): boolean {
    return this.offset >= this.bytes.length
  }

  skip(count: number): void {
    if (!Number.isSafeInteger(count) || count < 0 || this.offset + count > this.bytes.length)
      throw new RangeError('the answer of the engine ended in the middle of a column')
    this.offset += count
  }

  /** Reads a 64-bit number. It is always a count of things in memory, so a double can hold it. */
  uint64(): number {
    this.skip(8)
    return Number(this.bytes.readBigUInt64LE(this.offset - 8))
  }

  /** Reads a number of variable length: seven bits in each byte, the lowest bits first. */
  varUint(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      this.skip(1)
      const byte = this.bytes.readUInt8(this.offset - 1)
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }

  text(): string {
    const length = this.varUint()
    this.skip(length)
    return this.bytes.toString('utf8', this.offset - length, this.offset)
  }
}
