import { expect } from 'chai'
import { formatMicros, parseMicros } from '../../../shared/time/micros-text.ts'
import { microsecondClock } from '../../../shared/time/microsecond-clock.ts'

describe('the microsecond clock', () => {
  const make = () => {
    const time = { wall: 1_700_000_000_000, monotonic: 5_000 }
    const clock = microsecondClock(
      () => time.wall,
      () => time.monotonic,
    )
    const pass = (ms: number, wallMs = ms) => {
      time.monotonic += ms
      time.wall += wallMs
    }
    return { clock, pass }
  }

  it('shows the wall clock with microseconds, each once', () => {
    const { clock, pass } = make()
    expect(clock()).to.equal(1_700_000_000_000_000)
    expect([clock(), clock()]).to.deep.equal([1_700_000_000_000_001, 1_700_000_000_000_002])
    pass(0.25, 0)
    expect(clock()).to.equal(1_700_000_000_000_250)
    pass(10)
    expect(clock()).to.equal(1_700_000_000_010_250)
  })

  it('follows a wall clock that is set forward', () => {
    const { clock, pass } = make()
    clock()
    pass(1, 3_600_000)
    expect(clock()).to.equal(1_700_003_600_000_000)
  })

  it('waits when the wall clock is set back a little, and follows when it is set back far', () => {
    const { clock, pass } = make()
    const before = clock()
    pass(1, -500)
    expect(clock()).to.equal(before + 1)
    pass(1, -3_600_000)
    expect(clock()).to.be.lessThan(before - 3_500_000_000)
  })

  it('agrees with the system', () => {
    const clock = microsecondClock()
    expect(Math.abs(clock() / 1_000 - Date.now())).to.be.lessThan(20)
  })
})

describe('microseconds as text', () => {
  it('are what ClickHouse writes, and are read back', () => {
    for (const at of [0, 1, 1_700_158_623_979_960, 4_102_444_800_000_000])
      expect(parseMicros(formatMicros(at))).to.equal(at)
    expect(formatMicros(1_700_158_623_979_960)).to.equal('2023-11-16 18:17:03.979960')
    for (const text of [
      '',
      '2023-11-16',
      '2023-11-16 18:17:03',
      '2023-11-16T18:17:03.979960',
      '2023-02-29 00:00:00.000000',
    ])
      expect(parseMicros(text), text).to.equal(undefined)
  })
})
