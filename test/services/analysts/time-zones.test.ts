import { expect } from 'chai'
import { SharedTimeZones, type TimeZones } from '../../../services/analysts/judge/time-zones.ts'

const NAMES = Intl.supportedValuesOf('timeZone').filter((name) => name !== 'UTC')

describe('the time zones of analysts', () => {
  const take = (zones: TimeZones, names: readonly string[]) =>
    names.filter((name) => {
      try {
        return zones.require(name) === name
      } catch {
        return false
      }
    })

  it('of one company do not use up those of others', () => {
    const [first = 0, ...others] = [0, 1, 2, 3, 4, 5].map((nth) => {
      const zones = new SharedTimeZones()
      for (let n = 0; n < nth; n++) take(zones.of(`greedy ${n}`), NAMES.slice(60 * n, 60 * n + 60))
      return take(zones.of('last'), NAMES.slice(360, 400)).length
    })
    expect(first).to.equal(22)
    expect(Math.min(...others)).to.be.at.least(2)
  })

  it('are free for all once anybody has used them', () => {
    const shared = new SharedTimeZones()
    const used = take(shared.of('greedy'), NAMES.slice(0, 60))
    expect(take(shared.of('greedy'), NAMES.slice(0, 60))).to.deep.equal(used)
    expect(take(shared.of('other'), used)).to.deep.equal(used)
    expect(take(shared.of('other'), NAMES.slice(60, 100))).to.have.length(14)
  })

  it('are limited in all', () => {
    const shared = new SharedTimeZones()
    for (let nth = 0; nth < 20; nth++) take(shared.of(`company ${nth}`), NAMES.slice(0, 100))
    expect(take(shared.of('late'), NAMES.slice(0, 120))).to.have.length(64)
  })
})
