import { expect } from 'chai'
import fc from 'fast-check'
import { listedUpToOf } from '../../../shared/event-log/listed-up-to.ts'

describe('up to when the list of events is complete', () => {
  it('is before everything on its way into the log and everything in it that is not loaded', async () => {
    const micros = fc.integer({ min: 1, max: 1_000 })
    await fc.assert(
      fc.asyncProperty(micros, fc.option(micros, { nil: undefined }), async (underWay, unread) => {
        const listedUpTo = listedUpToOf({
          lowestUnderWay: () => underWay,
          eventLog: { lowestUnread: () => Promise.resolve(unread) },
        })
        expect(await listedUpTo()).to.equal(Math.min(underWay, unread ?? Infinity))
      }),
    )
  })

  it('misses no event that passes from its way into the log while it is asked', async () => {
    const [underWay, unread] = [new Set([7]), new Set<number>()]
    const lowest = (times: ReadonlySet<number>) => Math.min(1_000, ...times)
    const listedUpTo = listedUpToOf({
      lowestUnderWay: () => {
        const seen = lowest(underWay)
        underWay.delete(7)
        unread.add(7)
        return seen
      },
      eventLog: { lowestUnread: () => Promise.resolve(lowest(unread)) },
    })
    expect(await listedUpTo()).to.equal(7)
  })

  it('is asked again after an answer that failed', async () => {
    let fails = true
    const listedUpTo = listedUpToOf({
      lowestUnderWay: () => {
        if (!fails) return 3
        fails = false
        throw new Error('PostgreSQL is away')
      },
      eventLog: { lowestUnread: () => Promise.resolve(undefined) },
    })
    expect(await listedUpTo().catch(() => 'failed')).to.equal('failed')
    expect(await listedUpTo()).to.equal(3)
  })
})
