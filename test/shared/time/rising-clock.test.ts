import { expect } from 'chai'
import fc from 'fast-check'
import { risingClock } from '../../../shared/time/rising-clock.ts'

const SECOND = 1_000_000

describe('the rising clock', () => {
  let wall: number
  let ms: number
  let clock: ReturnType<typeof risingClock>

  beforeEach(() => {
    wall = 1_000 * SECOND
    ms = 0
    clock = risingClock(
      () => wall,
      () => ms,
    )
  })
  const pass = (seconds: number) => {
    wall += Math.floor(seconds * SECOND)
    ms += seconds * 1_000
  }

  it('is the wall clock as long as that goes forward', () => {
    expect(clock.next()).to.equal(1_000 * SECOND)
    pass(5)
    expect(clock.next()).to.equal(1_005 * SECOND)
    wall += 3_600 * SECOND
    expect(clock.next()).to.equal(4_605 * SECOND)
    expect(clock.lead()).to.equal(0)
  })

  it('goes on at half the pace when that is set back, until it is passed', () => {
    expect(clock.next()).to.equal(1_000 * SECOND)
    wall -= 100 * SECOND
    expect(clock.lead()).to.equal(100 * SECOND)
    expect(clock.next()).to.equal(1_000 * SECOND + 1)
    pass(10)
    expect(clock.next()).to.equal(1_005 * SECOND)
    expect(clock.lead()).to.equal(95 * SECOND)
    pass(90)
    expect(clock.next()).to.equal(1_050 * SECOND)
    expect(clock.lead()).to.equal(50 * SECOND)
    // No caller got a time in between.
    pass(60)
    expect(clock.next()).to.equal(1_060 * SECOND)
    expect(clock.lead()).to.equal(0)
  })

  it('does not look at the wall clock where that may be wrong', () => {
    clock.next()
    wall += 86_400 * SECOND
    ms += 2_000
    expect(clock.goOn()).to.equal(1_001 * SECOND)
    wall -= 86_400 * SECOND
    pass(2)
    expect(clock.next()).to.equal(1_002 * SECOND)
  })

  it('goes on from what it is raised to', () => {
    clock.raiseTo(2_000 * SECOND)
    expect(clock.next()).to.equal(2_000 * SECOND + 1)
    clock.raiseTo(1_500 * SECOND)
    pass(2)
    expect(clock.next()).to.equal(2_001 * SECOND)
    expect(clock.lead()).to.equal(999 * SECOND)
  })

  it('never shows a time twice, nor an earlier one, whatever the wall clock does', () => {
    const step = fc.record({
      wallS: fc.oneof(fc.integer({ min: -90_000, max: 90_000 }), fc.constant(0)),
      passS: fc.double({ min: 0, max: 100, noNaN: true }),
      how: fc.constantFrom('next', 'goOn', 'raise'),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let last = -Infinity
        for (const { wallS, passS, how } of steps) {
          wall += wallS * SECOND
          pass(passS)
          if (how === 'raise') {
            clock.raiseTo(last + wallS)
            last = Math.max(last, last + wallS)
            continue
          }
          const at = how === 'next' ? clock.next() : clock.goOn()
          if (at === -Infinity) continue
          if (!(at > last)) throw new Error(`${at} after ${last}`)
          last = at
        }
      }),
    )
  })
})
