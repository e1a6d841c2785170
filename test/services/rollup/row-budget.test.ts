import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { RowBudget } from '../../../services/rollup/row-budget.ts'

describe('a budget of rows', () => {
  it('is full at first, may be overdrawn once, and then grows with time', async () => {
    const budget = new RowBudget(100_000, 1_000)
    expect(budget.isLeft()).to.equal(true)
    budget.spend(6_000)
    expect(budget.isLeft(), 'overdrawn by the pay of 50 ms').to.equal(false)
    await sleep(80)
    expect(budget.isLeft()).to.equal(true)
  })

  it('is made good within a quarter of an hour, however far it was overdrawn', async () => {
    const budget = new RowBudget(1_000_000, 1_000)
    budget.spend(1e15)
    budget.earn(899_999_000)
    expect(budget.isLeft()).to.equal(false)
    await sleep(10)
    expect(budget.isLeft()).to.equal(true)
  })

  it('saves up no more than its limit, or than was earned last', async () => {
    const budget = new RowBudget(10_000, 1_000)
    await sleep(20)
    expect(budget.isLeft()).to.equal(true)
    budget.spend(1_100)
    expect(budget.isLeft(), 'of 1,200').to.equal(false)
    const large = new RowBudget(1, 1_000)
    large.earn(50_000)
    large.spend(49_000)
    expect(large.isLeft()).to.equal(true)
    large.earn(10)
    large.spend(1_001)
    expect(large.isLeft(), 'of the limit from before').to.equal(false)
  })
})
