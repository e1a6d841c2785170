import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { Allowance } from '../../../services/rollup/allowance.ts'

describe('an allowance of rows', () => {
  it('is full at first, may be overdrawn once, and then grows with time', async () => {
    const allowance = new Allowance(100_000, 1_000)
    expect(allowance.isLeft()).to.equal(true)
    allowance.spend(6_000)
    expect(allowance.isLeft(), 'overdrawn by the pay of 50 ms').to.equal(false)
    await sleep(80)
    expect(allowance.isLeft()).to.equal(true)
  })

  it('is made good within a quarter of an hour, however far it was overdrawn', async () => {
    const allowance = new Allowance(1_000_000, 1_000)
    allowance.spend(1e15)
    allowance.earn(899_999_000)
    expect(allowance.isLeft()).to.equal(false)
    await sleep(10)
    expect(allowance.isLeft()).to.equal(true)
  })

  it('saves up no more than its limit, or than was earned last', async () => {
    const allowance = new Allowance(10_000, 1_000)
    await sleep(20)
    expect(allowance.isLeft()).to.equal(true)
    allowance.spend(1_100)
    expect(allowance.isLeft(), 'of 1,200').to.equal(false)
    const large = new Allowance(1, 1_000)
    large.earn(50_000)
    large.spend(49_000)
    expect(large.isLeft()).to.equal(true)
    large.earn(10)
    large.spend(1_001)
    expect(large.isLeft(), 'of the limit from before').to.equal(false)
  })
})
