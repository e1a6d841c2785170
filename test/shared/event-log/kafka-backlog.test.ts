import { expect } from 'chai'
import type { Position } from '../../../shared/event-log/event-log.ts'
import { Backlog } from '../../../shared/event-log/kafka/backlog.ts'

const SETTLE_MS = 10_000
/** The number of records in a fetch. */
const FETCHED = 4

/** A partition whose records were accepted at these times, each with this many bytes. */
function partitionOf(accepted: number[], bytes = 1) {
  const fetches: number[] = []
  return {
    accepted,
    fetches,
    fetchOne({ partition, offset: from }: Position) {
      fetches.push(from)
      const records = accepted.slice(from, from + FETCHED).map((acceptedAt, n) => ({
        ...{ partition, offset: from + n, acceptedAt, count: 1 },
        ...{ value: Buffer.alloc(bytes), appendedAtMs: 1_000_000 + from + n },
      }))
      return Promise.resolve({
        from: { partition, offset: from },
        records,
        next: from + records.length,
        end: accepted.length,
      })
    },
  }
}

describe('the backlog of a group in Kafka', () => {
  const lagOf = (committed: number, end: number) => [{ partition: 0, committed, end }]

  it('is read once while it stands, and on from there when it grows', async () => {
    const partition = partitionOf([9, 8, 7, 3, 6, 9, 9, 9, 5])
    const backlog = new Backlog(partition, SETTLE_MS)
    for (let n = 0; n < 3; n++) expect(await backlog.findLowest(lagOf(0, 9))).to.equal(3)
    expect(partition.fetches).to.deep.equal([0, 4, 8])
    partition.accepted.push(2)
    expect(await backlog.findLowest(lagOf(0, 10))).to.equal(2)
    expect(partition.fetches.slice(3)).to.deep.equal([9])
  })

  it('is without what the group has read, to the record', async () => {
    const partition = partitionOf([9, 8, 7, 3, 6, 9, 9, 9, 5], 250_000)
    const backlog = new Backlog(partition, SETTLE_MS)
    expect(await backlog.findLowest(lagOf(0, 9))).to.equal(3)
    expect(await backlog.findLowest(lagOf(3, 9))).to.equal(3)
    expect(await backlog.findLowest(lagOf(4, 9))).to.equal(5)
    partition.accepted[8] = 1 // it is cached already
    expect(await backlog.findLowest(lagOf(5, 9))).to.equal(5)
    expect(partition.fetches).to.deep.equal([0, 4, 8, 3, 5])
    expect(await backlog.findLowest(lagOf(9, 9))).to.equal(undefined)
  })

  it('takes no more to look at when it grew record by record', async () => {
    const partition = partitionOf([])
    const backlog = new Backlog(partition, SETTLE_MS)
    for (let n = 1; n <= 2_000; n++) {
      partition.accepted.push(5_000 - n)
      expect(await backlog.findLowest(lagOf(0, n))).to.equal(5_000 - n)
    }
    expect(partition.fetches).to.have.length(2_000)
    partition.fetches.length = 0
    expect(await backlog.findLowest(lagOf(1_000, 2_000))).to.equal(3_000)
    expect(partition.fetches).to.have.length(1_000 / FETCHED)
  })

  it('is read anew where the log has become shorter', async () => {
    const partition = partitionOf([9, 8, 7, 3])
    const backlog = new Backlog(partition, SETTLE_MS)
    expect(await backlog.findLowest(lagOf(0, 4))).to.equal(3)
    partition.accepted.splice(0, 4, 20, 21)
    expect(await backlog.findLowest(lagOf(0, 2))).to.equal(20)
  })

  it('fails where the log ends before it should, instead of waiting for ever', async () => {
    const backlog = new Backlog(partitionOf([9, 8]), SETTLE_MS)
    const failure: unknown = await backlog.findLowest(lagOf(0, 9)).catch((err: unknown) => err)
    expect(String(failure)).to.match(/ends before/)
  })

  it('is bounded by the time of appending where it is long', async () => {
    const partition = partitionOf(
      Array.from({ length: 40 }, () => 2e12),
      1_000_000,
    )
    const backlog = new Backlog(partition, SETTLE_MS)
    const lowest = (1_000_000 + 15 - SETTLE_MS) * 1_000
    for (let n = 0; n < 2; n++) expect(await backlog.findLowest(lagOf(0, 40))).to.equal(lowest)
    expect(partition.fetches).to.deep.equal([0, 4, 8, 12])
  })
})
