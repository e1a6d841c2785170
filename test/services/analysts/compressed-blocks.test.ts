import { expect } from 'chai'
import { cityHash128 } from '../../../services/analysts/native/city-hash.ts'
import { compressedBlocks } from '../../../services/analysts/native/compressed-blocks.ts'
import { unpackBlocks } from './unpack-blocks.ts'

/** The hash of madeUp(length), high word first, from go-faster/city (CH128), which the Go driver uses. */
const VECTORS: readonly (readonly [length: number, hash: string])[] = [
  [0, '3cb540c392e51e293df09dfc64c09a2b'],
  [1, 'f63f00aff7b3ec3746c132042e4a16df'],
  [3, '4a0a4ab0a2546ec131b743263e24cfdf'],
  [4, '433c78eb8c602775af960cdbb7448196'],
  [7, '21394a9bea041d199ee84b2d559dac4c'],
  [8, '432cabe281905e25b269c418b3269d69'],
  [9, 'fbb2d9f96020831c186db940e9e490d2'],
  [15, '903d1224bb7a02cd7d828f6f276e8fe9'],
  [16, 'fa5bdae2bda8322b0491df51a774c70d'],
  [17, 'b5a73083fa118a494dd6001921121060'],
  [24, '13e65050d3040071ee7ba28ce93605f8'],
  [31, 'c2711549bf4e0c86af2a918e8edfcad3'],
  [32, 'a1aa2531914134298dbf1ee71f8cc825'],
  [33, '7e3b52ca17972c5b0b211678d7ae08ec'],
  [48, '911174bbdde988e835eef3a850f226b0'],
  [64, 'd8a8ddd46dc045bebafd94c249ebd310'],
  [100, '06188a6829848150c1bc1aeb2735e06b'],
  [127, 'd4e5722585ab1ab431edafdc4a0fd96b'],
  [143, '7338775808a768efcaf512cd99b10fd0'],
  [144, '9d860d0c06219ce98823b04a97752cae'],
  [145, '134aea427a41d08b1c5ce9073a6760de'],
  [160, '4a4d00e675c04aaa1c2416f8ce2f60fe'],
  [175, '165906b243c5a2817b122a65d2ce3091'],
  [176, 'e9c1ea8661d87e0c2b94d22b37d74342'],
  [271, '93d7f6bbe9edd6b7ab5d6b3aebdd2f33'],
  [272, '6fda346263a688a73970a2dd3bdcb075'],
  [273, 'e00cad85d76eb811d4ebe265c159099a'],
  [400, 'ef15097989f9f8ca83b79981e4011ab2'],
  [1023, '52960eca692079d0c73218a3a0f44605'],
  [65545, 'af24b8f2dd19e036a2752fc52243c787'],
]

/** Bytes of a linear congruential generator. */
function madeUp(length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let state = (Math.imul(length, 2_654_435_761) + 1) >>> 0
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[i] = state >>> 24
  }
  return bytes
}

const hex = (word: bigint): string => word.toString(16).padStart(16, '0')

describe('compressed blocks', () => {
  it('have the checksum that drivers compute', () => {
    for (const [length, expected] of VECTORS) {
      const { low, high } = cityHash128(madeUp(length))
      expect(hex(high) + hex(low), `${length} bytes`).to.equal(expected)
    }
  })

  it('do not depend on where in a buffer the bytes are', () => {
    const bytes = madeUp(1_000)
    const shifted = Buffer.concat([Buffer.from([1, 2, 3]), bytes]).subarray(3)
    expect(cityHash128(shifted)).to.deep.equal(cityHash128(bytes))
  })

  it('hold every byte of an answer of any length, in blocks of 64 KiB', async () => {
    for (const length of [1, 14, 15, 16, 269, 270, 271, 524, 525, 65_535, 65_536, 65_537, 200_000])
      expect(
        unpackBlocks(await compressedBlocks(madeUp(length))).equals(madeUp(length)),
        `${length} bytes`,
      ).to.equal(true)
    expect(await compressedBlocks(new Uint8Array(0))).to.have.length(0)
  })
})
