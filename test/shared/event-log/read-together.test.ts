import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { drainOf } from '../../../shared/event-log/drain.ts'
import { readTogether } from '../../../shared/event-log/read-together.ts'
import { untilLoadedIn } from '../../../shared/event-log/until-loaded.ts'

describe('readings that are shared', () => {
  /** Slow reads, with the number of all reads and the largest number of concurrent reads. */
  const readings = () => {
    const seen = { begun: 0, underWay: 0, most: 0 }
    const read = async () => {
      const number = ++seen.begun
      seen.most = Math.max(seen.most, ++seen.underWay)
      await sleep(10)
      seen.underWay--
      return number
    }
    return { seen, read }
  }

  it('are begun after they were asked for', async () => {
    const { seen, read } = readings()
    const together = readTogether(read)
    const first = together()
    const others = [together(), together()]
    expect(await first).to.equal(1)
    expect(await Promise.all(others)).to.deep.equal([2, 2])
    expect(await together()).to.equal(3)
    expect(seen.most).to.equal(1)
  })

  it('fail for those who asked for them, and are begun anew', async () => {
    let fails = true
    const together = readTogether(async () => {
      await sleep(5)
      if (fails) throw new Error('away')
      return 'read'
    })
    const both = [together(), together()].map((reading) => reading.catch((err: unknown) => err))
    for (const failed of await Promise.all(both)) expect(failed).to.be.instanceOf(Error)
    fails = false
    expect(await together()).to.equal('read')
  })

  it('are what everybody waits by who waits for the loaders', async () => {
    const { seen, read } = readings()
    const log = {
      lag: async () => [{ partition: 0, end: 1, committed: (await read()) > 6 ? 1 : 0 }],
    }
    const drain = drainOf(log)
    expect(await Promise.all(Array.from({ length: 50 }, () => drain(5_000)))).to.not.include(false)
    seen.begun = 0
    const untilLoaded = untilLoadedIn(log, 5_000)
    await Promise.all(Array.from({ length: 50 }, () => untilLoaded()))
    expect(seen.most).to.equal(1)
    expect(seen.begun).to.be.below(20)
  })
})
