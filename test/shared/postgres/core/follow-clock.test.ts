import { expect } from 'chai'
import { followClock } from '../../../../shared/postgres/core/follow-clock.ts'
import type { Queryable } from '../../../../shared/postgres/core/pool.ts'
import { testLog } from '../../../support/log.ts'
import { until } from '../../../support/until.ts'

describe('the clock of the database, followed', () => {
  it('is ours while both agree, and theirs once ours is set, at once and afterwards', async () => {
    let aheadMs = 0
    let theirsAheadMs = 0
    let looks = 0
    const db = {
      query: () => {
        looks++
        return Promise.resolve({ rows: [{ at: new Date(Date.now() + theirsAheadMs) }] })
      },
    } as unknown as Queryable
    const clock = await followClock(db, testLog, { wallMs: () => Date.now() + aheadMs })
    const expectAhead = (ms: number) => {
      expect(clock.nowMs() - Date.now()).to.be.within(ms - 200, ms + 200)
    }
    const looked = async () => {
      const before = looks
      await until(() => Promise.resolve(looks > before + 1))
    }
    try {
      expectAhead(0)
      aheadMs = 1_500
      expectAhead(1_500)
      aheadMs = 3_600_000
      expectAhead(0)
      await looked()
      expectAhead(0)
      aheadMs = -86_400_000
      expectAhead(0)
      theirsAheadMs = 7_200_000
      aheadMs = 0
      await looked()
      expectAhead(7_200_000)
      theirsAheadMs = 0
      await looked()
      expectAhead(0)
    } finally {
      await clock.close()
    }
  })
})
