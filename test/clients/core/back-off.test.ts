import { expect } from 'chai'
import { backOffMs, parseRetryAfter } from '../../../clients/core/back-off.ts'

describe('back-off', () => {
  it('doubles up to ten seconds, half of it by chance', () => {
    const range = (attempt: number) => [backOffMs(attempt, 0), backOffMs(attempt, 1)]
    expect([0, 1, 2, 5, 6, 60].map(range)).to.deep.equal([
      [100, 200],
      [200, 400],
      [400, 800],
      [3_200, 6_400],
      [5_000, 10_000],
      [5_000, 10_000],
    ])
  })

  it('reads Retry-After as seconds or as a date', () => {
    const now = Date.parse('2026-01-31T12:00:00Z')
    expect(parseRetryAfter('7', now)).to.equal(7_000)
    expect(parseRetryAfter('Sat, 31 Jan 2026 12:00:30 GMT', now)).to.equal(30_000)
    expect(parseRetryAfter('Sat, 31 Jan 2026 11:00:00 GMT', now)).to.equal(0)
    expect(parseRetryAfter('soon', now)).to.equal(0)
    expect(parseRetryAfter(undefined, now)).to.equal(0)
  })
})
