import { expect } from 'chai'
import { compare, failWhenMissed, formatCompared } from '../../bench/targets.ts'

describe('what the bench compares with floors and targets', () => {
  const verdictOf = (...measured: Parameters<typeof compare>) => compare(...measured).verdict

  it('is met by more where more is better', () => {
    expect(verdictOf({ measure: 'loader', value: 150_000 })).to.equal('target met')
    expect(verdictOf({ measure: 'loader', value: 149_999 })).to.equal('floor met')
    expect(verdictOf({ measure: 'loader', value: 79_999 })).to.equal('MISSED')
  })

  it('is met by less where less is better', () => {
    expect(verdictOf({ measure: 'balanceP50', value: 5 })).to.equal('target met')
    expect(verdictOf({ measure: 'balanceP50', value: 15 })).to.equal('floor met')
    expect(verdictOf({ measure: 'balanceP50', value: 15.1 })).to.equal('MISSED')
  })

  it('is missed where nothing was measured', () => {
    expect(verdictOf({ measure: 'loader', value: NaN })).to.equal('MISSED')
    expect(verdictOf({ measure: 'growth', value: NaN })).to.equal('MISSED')
  })

  it('has the process end with 1 when a floor is missed, and only then', () => {
    const before = process.exitCode
    try {
      process.exitCode = undefined
      const good = [compare({ measure: 'loader', value: 80_000 }), compare({ measure: 'growth', value: 1 })]
      failWhenMissed(good)
      expect(process.exitCode).to.equal(undefined)
      failWhenMissed([...good, compare({ measure: 'growth', value: 2.1 })])
      expect(process.exitCode).to.equal(1)
    } finally {
      process.exitCode = before
    }
  })

  it('is a line each, with floor and target beside the figure', () => {
    const [, line] = formatCompared([compare({ measure: 'balanceP99', value: 30.456, on: '1,000 events' })])
    expect(line).to.match(/balance.*p99 +1,000 events +ms +30\.46 +60\.00 +25\.00 +floor met$/)
  })
})
