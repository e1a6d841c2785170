import { yielder } from '../../../shared/lifecycle/yielder.ts'
import { cityHash128 } from './city-hash.ts'

/** How many bytes of an answer are in one block: as many as in a block of a ClickHouse server. */
const BLOCK_BYTES = 64 * 1_024
const CHECKSUM_BYTES = 16
/** The method and two sizes. The checksum covers them, too. */
const HEADER_BYTES = 9
const LZ4 = 0x82

/**
 * An LZ4 sequence begins with the number of its literals. The first byte has room for a number up to this one. If it is
 * this one, the bytes that follow are added to it, up to and including the first that is below LENGTH_IN_BYTE.
 */
const LENGTH_IN_TOKEN = 15
const LENGTH_IN_BYTE = 255

/**
 * Packs an answer into ClickHouse's compressed blocks, for clients that send `compress=1`: the checksum, the method
 * LZ4, the sizes with and without compression, and the data. The data has the form of LZ4, but is not made smaller: it
 * consists of literals. Clients that want fewer bytes ask for gzip with Accept-Encoding.
 */
export async function compressedBlocks(bytes: Uint8Array): Promise<Buffer> {
  const yielding = yielder()
  const packed = Buffer.allocUnsafe(sizeOfBlocks(bytes.length))
  let at = 0
  for (let start = 0; start < bytes.length; start += BLOCK_BYTES) {
    if (yielding.isDue()) await yielding.yieldToOthers()
    at += writeBlock(packed.subarray(at), bytes.subarray(start, start + BLOCK_BYTES))
  }
  return packed
}

function sizeOfBlocks(bytes: number): number {
  const last = bytes % BLOCK_BYTES
  const whole = (bytes - last) / BLOCK_BYTES
  return whole * sizeOfBlock(BLOCK_BYTES) + (last === 0 ? 0 : sizeOfBlock(last))
}

const sizeOfBlock = (bytes: number): number =>
  CHECKSUM_BYTES + HEADER_BYTES + literalLengths(bytes).length + bytes

/** @returns the size of the block */
function writeBlock(block: Buffer, data: Uint8Array): number {
  const lengths = literalLengths(data.length)
  const size = sizeOfBlock(data.length)
  const checked = block.subarray(CHECKSUM_BYTES, size)
  checked.writeUInt8(LZ4, 0)
  checked.writeUInt32LE(checked.length, 1)
  checked.writeUInt32LE(data.length, 5)
  checked.set(lengths, HEADER_BYTES)
  checked.set(data, HEADER_BYTES + lengths.length)
  const { low, high } = cityHash128(checked)
  block.writeBigUInt64LE(low, 0)
  block.writeBigUInt64LE(high, 8)
  return size
}

/** Returns the bytes with which an LZ4 sequence of so many literals begins. */
function literalLengths(length: number): number[] {
  if (length < LENGTH_IN_TOKEN) return [length << 4]
  const lengths = [LENGTH_IN_TOKEN << 4]
  let rest = length - LENGTH_IN_TOKEN
  for (; rest >= LENGTH_IN_BYTE; rest -= LENGTH_IN_BYTE) lengths.push(LENGTH_IN_BYTE)
  return [...lengths, rest]
}
