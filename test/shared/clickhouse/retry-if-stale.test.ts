import { expect } from 'chai'
import { retryIfStale } from '../../../shared/clickhouse/rollups/retry-if-stale.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'

describe('what goes by an epoch', () => {
  /** Work with these durations in turn, and then always the last one. */
  const taking = (...seconds: number[]) => {
    let [nowMs, times] = [0, 0]
    const work = () => {
      nowMs += (seconds[Math.min(times, seconds.length - 1)] ?? 0) * 1_000
      return Promise.resolve(++times)
    }
    return retryIfStale(work, () => nowMs)
  }

  it('is done once when it takes less than two minutes', async () => {
    expect(await taking(119)).to.equal(1)
  })

  it('is done again when the process stood still meanwhile', async () => {
    expect(await taking(121, 5)).to.equal(2)
  })

  it('is not done for ever', async () => {
    const failure = await taking(120).catch((err: unknown) => err)
    expect(failure).to.be.instanceOf(DomainError).with.property('code', 'overloaded')
  })
})
