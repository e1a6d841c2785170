import { expect } from 'chai'
import { Acceptance } from '../../../services/gateway/acceptance.ts'
import { DomainError, type ErrorCode } from '../../../shared/errors/domain-error.ts'
import { until } from '../../support/until.ts'

describe('acceptances under way', () => {
  let now: number
  let acceptance: Acceptance

  beforeEach(() => {
    now = 1_000
    acceptance = new Acceptance(() => now, 50)
  })

  /** Begins an acceptance; what it gives ends it. */
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
    expect(acceptance.lowest()).to.equal(3_000)
  })

  it('are reckoned with by their lowest, also after the clock was set back, and when two have one time', async () => {
    const ends = [begin(9_000), begin(5_000), begin(5_000)]
    now = 10_000
    expect(acceptance.lowest()).to.equal(5_000)
    await ends[1]?.()
    expect(acceptance.lowest()).to.equal(5_000)
    await ends[2]?.()
    expect(acceptance.lowest()).to.equal(9_000)
    await ends[0]?.()
  })

  it('hold the list back for a while after an append that may still reach the log', async () => {
    await begin(2_000)(new DomainError('unavailable', 'no answer'))
    now = 3_000
    expect(acceptance.lowest()).to.equal(2_000)
    await until(() => Promise.resolve(acceptance.lowest() === 3_000))
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
