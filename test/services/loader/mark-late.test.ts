import { expect } from 'chai'
import { markLate } from '../../../services/loader/mark-late.ts'
import type { LogLineSubject } from '../../../shared/usage-lines/log-line-subjects.ts'
import { countTurns } from './count-turns.ts'

const DAY_S = 86_400
const NOW = 1_790_000_000

describe('marking late usage', () => {
  const done = () => Promise.resolve()
  /** Stores usage of these times, of the accounts in turn. @returns the number of marks that each insert placed */
  async function marksOf(
    ages: readonly number[],
    accounts: number,
  ): Promise<{ placed: number[]; turns: number }> {
    const placed: number[] = []
    const insert = markLate(
      {
        epochs: { readClock: () => Promise.resolve({ now: NOW, slotS: 300, closing: 0 }) },
        dirty: {
          placePending: (slots) => {
            placed.push(slots.length)
            return done()
          },
          turnReady: done,
          placeReady: done,
        },
        insertLines: done,
        reached: () => undefined,
      },
      15,
    )
    const subjects = ages.map((age, n): LogLineSubject => ({
      namespaceId: 'n',
      accountId: `a${n % accounts}`,
      occurredAt: NOW - age,
      acceptedAt: NOW * 1_000_000,
      identity: n,
    }))
    return { turns: await countTurns(() => insert(Buffer.alloc(0), subjects)), placed }
  }

  it('lets others have their turn while a batch has very much of it', async () => {
    const ages = Array.from({ length: 300_000 }, (_, n) => DAY_S + ((n * 997) % (29 * DAY_S)))
    const { turns, placed } = await marksOf(ages, 5_000)
    expect(turns).to.be.at.least(5)
    expect(placed, 'days').to.deep.equal([30])
  })

  it('marks slots of accounts as long as they are one for fifty rows, and not very many', async () => {
    /** The number of marks for a batch with late rows, each of another account. */
    const marksIn = async (rows: number, late: number) =>
      (
        await marksOf(
          Array.from({ length: rows }, (_, n) => (n < late ? 700 : 0)),
          rows,
        )
      ).placed
    expect(await marksIn(10_000, 1_000)).to.deep.equal([1_000])
    expect(await marksIn(10_000, 1_001), 'of all').to.deep.equal([1])
    expect(await marksIn(100_000, 2_000)).to.deep.equal([2_000])
    expect(await marksIn(100_000, 2_001), 'of all').to.deep.equal([1])
    expect(await marksIn(400_000, 5_001), 'of all').to.deep.equal([1])
  })
})
