import { expect } from 'chai'
import { cityHash128 } from '../../../services/analysts/native/city-hash.ts'

/** Decodes compressed blocks like a driver: checks each block, and joins the literals. */
export function unpackBlocks(packed: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < packed.length;) {
    const length = packed.readUInt32LE(at + 17)
    const checked = packed.subarray(at + 16, at + 16 + length)
    expect([packed.readBigUInt64LE(at), packed.readBigUInt64LE(at + 8)]).to.deep.equal(
      Object.values(cityHash128(checked)),
    )
    expect(checked.readUInt8(0), 'the method').to.equal(0x82)
    let [literals, from] = [checked.readUInt8(9) >> 4, 10]
    for (let more = literals === 15 ? 255 : 0; more === 255; literals += more)
      more = checked.readUInt8(from++)
    expect(literals).to.equal(checked.readUInt32LE(5))
    const data = checked.subarray(from)
    expect(data).to.have.length(literals)
    parts.push(data)
    at += 16 + length
  }
  return Buffer.concat(parts)
}
