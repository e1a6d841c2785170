import { expect } from 'chai'
import { markLate } from '../../../services/loader/mark-late.ts'
import type { LineSubject } from '../../../shared/domain/line-subjects.ts'
import { countTurns } from '../../support/count-turns.ts'

const DAY_S = 86_400
const NOW = 1_790_000_000

describe('marking late usage', () => {
  it('lets others have their turn while a batch has very much of it', async () => {
    const done = () => Promise.resolve()
    const placed: number[] = []
    const insert = markLate(
      {
        clock: { clock: () => Promise.resolve({ now: NOW, slotS: 300, closing: 0 }) },
        dirty: {
          placePending: (slots) => {
            placed.push(slots.length)
            return done()
          },
          turnReady: done,
          placeReady: done,
        },
        insertLines: done,
        insertHistory: done,
        reached: () => undefined,
      },
      15,
    )
    // Late by one to thirty days, of more accounts than are marked one by one.
    const subjects = Array.from({ length: 300_000 }, (_, n): LineSubject => {
      const occurredAt = NOW - DAY_S - ((n * 997) % (29 * DAY_S))
      return { namespaceId: 'n', accountId: `a${n % 5_000}`, occurredAt, acceptedAt: NOW * 1_000_000 }
    })
    expect(await countTurns(() => insert(Buffer.alloc(0), subjects))).to.be.at.least(5)
    expect(placed, 'days').to.deep.equal([30])
  })
})
