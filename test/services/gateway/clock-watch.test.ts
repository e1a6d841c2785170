import { expect } from 'chai'
import { Acceptance } from '../../../services/gateway/acceptance.ts'
import { ClockWatch } from '../../../services/gateway/clock-watch.ts'
import { MICROS_PER_SECOND } from '../../../shared/time/microsecond-clock.ts'
import { type RisingClock, risingClock } from '../../../shared/time/rising-clock.ts'
import { testLog } from '../../support/log.ts'

const SETTLES_S = 180
const HOUR_S = 3_600

describe('the watch of a clock', () => {
  /** The real time in seconds, and the seconds by which clocks are ahead of it. */
  let now: number
  let oursAhead: number
  let theirsAhead: number
  let time: RisingClock
  let watch: ClockWatch

  const start = (upS = HOUR_S) => {
    ;[now, oursAhead, theirsAhead] = [1_000_000, 0, 0]
    const wall = () => (now + oursAhead) * MICROS_PER_SECOND
    const monotonicMs = () => now * 1_000
    time = risingClock(wall, monotonicMs)
    watch = new ClockWatch({
      wall,
      time,
      monotonicMs,
      uptimeMs: () => upS * 1_000,
      settlesMs: SETTLES_S * 1_000,
      log: testLog,
    })
  }
  /** @param tookS seconds until the answer arrived; PostgreSQL made it at once */
  const look = (tookS = 0) => {
    const asked = watch.asks()
    const theirs = (now + theirsAhead) * MICROS_PER_SECOND
    now += tookS
    return watch.look(asked, theirs)
  }
  const setBoth = (aheadS: number) => ([oursAhead, theirsAhead] = [aheadS, aheadS])

  beforeEach(() => {
    start()
    time.next()
    expect(look()).to.equal('right')
  })

  it('says that it is off as long as it is another than PostgreSQL’s, by more than two seconds', () => {
    for (const [ours, theirs, verdict] of [
      [1.9, 0, 'right'],
      [2.1, 0, 'off'],
      [0, 2.1, 'off'],
      [-HOUR_S, 0, 'off'],
      [0, 0, 'right'],
    ] as const) {
      ;[oursAhead, theirsAhead] = [ours, theirs]
      expect(look(), `${ours} and ${theirs}`).to.equal(verdict)
    }
  })

  it('relies on no clock that was set since the last look', () => {
    const acceptance = new Acceptance(time, 1_000, undefined, () => watch.agrees)
    for (const aheadS of [-HOUR_S, -3, 3, 30, HOUR_S]) {
      oursAhead = aheadS
      expect(acceptance.isOpen, `${aheadS} s ahead`).to.equal(false)
      expect(watch.mayBeBehind, `${aheadS} s ahead`).to.equal(true)
      theirsAhead = aheadS
      look()
      expect(acceptance.isOpen, `${aheadS} s ahead, as PostgreSQL’s`).to.equal(true)
      setBoth(0)
      look()
    }
    now += 600 // with any time since the last look
    expect(acceptance.isOpen).to.equal(true)
  })

  it('waits behind what was accepted for as long as a time server may take, then refuses nothing for good', () => {
    setBoth(-50)
    expect(look()).to.equal('right')
    setBoth(-HOUR_S)
    expect(look()).to.equal('behind')
    now += SETTLES_S - 1
    expect(look()).to.equal('behind')
    now += 2
    expect(look()).to.equal('right')
    expect(watch.mayBeBehind).to.equal(true)
    setBoth(0)
    expect(look()).to.equal('right')
    expect(watch.mayBeBehind).to.equal(false)
  })

  it('ends the waiting once both clocks are set', () => {
    setBoth(-HOUR_S)
    expect(look()).to.equal('behind')
    now += 20
    setBoth(0)
    expect(look()).to.equal('right')
    expect(watch.mayBeBehind).to.equal(false)
  })

  it('waits again when the clocks are set back once more, however long ago that was', () => {
    setBoth(HOUR_S)
    time.next()
    look()
    setBoth(0)
    expect(look()).to.equal('behind')
    now += 3 * HOUR_S
    time.next()
    expect([look(), time.lead()]).to.deep.equal(['right', 0])
    setBoth(-2 * HOUR_S)
    expect(look()).to.equal('behind')
    now += SETTLES_S + 1
    expect(look()).to.equal('right')
    setBoth(-3 * HOUR_S)
    expect(look()).to.equal('behind')
  })

  it('does not take an answer that was long on its way for a clock that was set', () => {
    expect([look(9), watch.agrees]).to.deep.equal(['right', true])
    oursAhead = 12
    expect(watch.agrees).to.equal(false)
    oursAhead = 0
    expect([look(), watch.agrees]).to.deep.equal(['right', true])
    oursAhead = -3
    expect(watch.agrees).to.equal(false)
  })

  it('refuses nothing for good in the first minutes of a machine', () => {
    start(5)
    look()
    expect(watch.mayBeBehind).to.equal(true)
    now += SETTLES_S
    look()
    expect(watch.mayBeBehind).to.equal(false)
  })
})
