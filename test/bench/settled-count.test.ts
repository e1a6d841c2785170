import { expect } from 'chai'
import { settledCount } from '../../bench/settled-count.ts'

describe('what the bench counts in the end', () => {
  const options = { expected: 100, pauseMs: 1, timeoutMs: 50 }

  /** Returns these numbers one after the other, and then always the last one. */
  const counting = (...numbers: number[]) => {
    let asked = 0
    return () => Promise.resolve(numbers[Math.min(asked++, numbers.length - 1)] ?? 0)
  }
  const failureOf = (work: Promise<number>): Promise<string> => work.then(String, String)

  it('is waited for until no more is coming', async () => {
    expect(await settledCount(counting(0, 40, 100, 100), options)).to.equal(100)
  })

  it('may take as long as it goes on growing', async () => {
    const slow = counting(...Array.from({ length: 101 }, (_, counted) => counted), 100)
    expect(await settledCount(slow, { ...options, timeoutMs: 20 })).to.equal(100)
  })

  it('may not be less than what was acknowledged', async () => {
    expect(await failureOf(settledCount(counting(99), options))).to.contain('99 are counted')
  })

  it('may not be more than that: doubled events are no success', async () => {
    expect(await failureOf(settledCount(counting(100, 200), options))).to.contain('some count twice')
  })
})
