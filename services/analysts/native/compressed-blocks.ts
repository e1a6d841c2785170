import { yielder } from '../../../shared/lifecycle/yielder.ts'
import { cityHash128 } from './city-hash.ts'

/** The bytes of an answer in one block, as a server has it. */
const BLOCK_BYTES = 64 * 1_024
const CHECKSUM_BYTES = 16
/** The method and two sizes; the checksum covers them too. */
const HEADER_BYTES = 9
const LZ4 = 0x82

/** The first byte of an LZ4 sequence holds the length of its literals up to this; further bytes hold the rest. */
const LENGTH_IN_TOKEN = 15
const LENGTH_IN_BYTE = 255

/**
 * Packs an answer into ClickHouse's compressed blocks, for clients that send `compress=1`: the checksum, the method
 * LZ4, the sizes with and without compression, and the data. The data is LZ4 of literals alone, which every
 * decompressor reads: clients that want fewer bytes ask for gzip with Accept-Encoding.
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

/** How LZ4 begins a sequence that has so many literals and no match. */
function literalLengths(length: number): number[] {
  if (length < LENGTH_IN_TOKEN) return [length << 4]
  const lengths = [LENGTH_IN_TOKEN << 4]
  let rest = length - LENGTH_IN_TOKEN
  for (; rest >= LENGTH_IN_BYTE; rest -= LENGTH_IN_BYTE) lengths.push(LENGTH_IN_BYTE)
  return [...lengths, rest]
}
