import { expect } from 'chai'
import { Acceptance } from '../../../services/gateway/acceptance.ts'
import { DomainError, type ErrorCode } from '../../../shared/errors/domain-error.ts'
import { risingClock } from '../../../shared/time/rising-clock.ts'
import { until } from '../../support/until.ts'

describe('acceptances under way', () => {
  let now: number
  let acceptance: Acceptance

  beforeEach(() => {
    now = 1_000
    const time = risingClock(
      () => now,
      () => 0,
    )
    acceptance = new Acceptance(time, 50)
  })

  /** Begins an acceptance, and returns the function that ends it. */
  const begin = (at: number): ((err?: Error) => Promise<void>) => {
    now = at
    let end: (err?: Error) => void = () => undefined
    const appended = new Promise<void>((resolve, reject) => {
      end = (err) => {
        if (err === undefined) resolve()
        else reject(err)
      }
    })
    const ended = acceptance
      .during(
        () => Promise.resolve(),
        () => appended,
      )
      .catch(() => undefined)
    return async (err) => {
      end(err)
      await ended
    }
  }

  it('hold the list back until they are in the log', async () => {
    const end = begin(2_000)
    now = 3_000
    expect(acceptance.lowest()).to.equal(2_000)
    await end()
    now = 4_000
    expect(acceptance.lowest()).to.equal(4_000)
  })

  it('get no time twice, and none before one that was given or told, whatever the clock shows', async () => {
    const ends = [begin(9_000), begin(5_000), begin(5_000)]
    now = 10_000
    for (const [n, lowest] of [9_000, 9_001, 9_002].entries()) {
      expect(acceptance.lowest()).to.equal(lowest)
      await ends[n]?.()
    }
    now = 11_000
    expect(acceptance.lowest()).to.equal(11_000)
    const end = begin(2_000)
    expect(acceptance.lowest()).to.equal(11_001)
    await end()
  })

  it('are refused while it is shut, with the reason, and its clock is not looked at', async () => {
    now = 5_000
    acceptance.lowest()
    acceptance.shut('the clock is wrong')
    now = 90_000
    expect(acceptance.lowest()).to.be.below(6_000)
    const refusal = await acceptance
      .during(
        () => Promise.resolve(),
        () => Promise.resolve(),
      )
      .catch((err: unknown) => err)
    expect(refusal)
      .to.be.instanceOf(DomainError)
      .and.include({ code: 'suspended', message: 'the clock is wrong' })
    acceptance.open(80_000, Infinity)
    now = 6_000
    expect(acceptance.lowest()).to.equal(80_001)
  })

  it('hold the list back for a while after an append that may still reach the log', async () => {
    await begin(2_000)(new DomainError('unavailable', 'no answer'))
    now = 3_000
    expect(acceptance.lowest()).to.equal(2_000)
    await until(() => Promise.resolve(acceptance.lowest() >= 3_000))
  })

  it('hold nothing back when nothing was sent', async () => {
    await begin(2_000)(new DomainError('overloaded', 'queue is full'))
    now = 3_000
    expect(acceptance.lowest()).to.equal(3_000)
    const refused: ErrorCode = 'conflict'
    await acceptance
      .during(
        () => Promise.reject(new DomainError(refused, 'the key was used')),
        () => Promise.resolve(),
      )
      .catch(() => undefined)
    now = 4_000
    expect(acceptance.lowest()).to.equal(4_000)
  })
})
