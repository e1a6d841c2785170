import { expect } from 'chai'
import { storedIds } from '../../../shared/clickhouse/usage/stored-ids.ts'

const STARTED_AT = 1_800_000_000

describe('ids of stored events', () => {
  it('are new once, and never before the start', () => {
    const ids = storedIds(STARTED_AT)
    const add = (at: number, n: number) => ids.add(at, n)
    expect([add(STARTED_AT, 1), add(STARTED_AT, 1), add(STARTED_AT, 2)]).to.deep.equal([true, false, true])
    expect([add(STARTED_AT + 1, 1), add(STARTED_AT + 99, 1)], 'of other times').to.deep.equal([false, true])
    expect([add(STARTED_AT - 1, 3), add(0, 3)]).to.deep.equal([false, false])
  })

  it('are forgotten the oldest first, and are not new after that', () => {
    const ids = storedIds(STARTED_AT)
    const added = new Map<number, number>()
    for (let n = 0; n < 600_000; n++) {
      const at = STARTED_AT + Math.floor(n / 10_000)
      if (ids.add(at, n)) added.set(n, at)
    }
    expect(added.size).to.equal(600_000)
    expect(ids.completeFrom).to.be.within(STARTED_AT + 10, STARTED_AT + 40)
    for (const [n, at] of added) if (ids.add(at, n)) expect.fail(`${n} is new again`)
  })

  it('are bounded by their times as well, as in an import of history', () => {
    for (const order of ['ascending', 'descending', 'scattered']) {
      const ids = storedIds(0)
      const added = new Map<number, number>()
      for (let n = 0; n < 150_000; n++) {
        const nth = order === 'descending' ? 150_000 - n : order === 'ascending' ? n : (n * 7_919) % 150_000
        const at = STARTED_AT + nth * 10
        if (ids.add(at, n)) added.set(n, at)
      }
      expect(ids.completeFrom, order).to.be.greaterThan(STARTED_AT)
      expect(added.size, order).to.be.greaterThan(5_000)
      for (const [n, at] of added) if (ids.add(at, n)) expect.fail(`${n} is new again, ${order}`)
    }
  })
})
