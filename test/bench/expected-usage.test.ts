import { expect } from 'chai'
import { expectedUsage } from '../../bench/expected-usage.ts'
import type { TallyClient } from '../../bench/tally-client.ts'

describe('what balances are compared with after a load', () => {
  const body = (...quantities: string[]) => ({
    bytes: Buffer.alloc(0),
    events: quantities.map((quantity) => ({ account_id: 'a', metric_id: 'm', quantity })),
  })
  /** A client that returns these totals, one for each balance. */
  const telling = (...totals: string[]): TallyClient => {
    const data = totals.map((total) => ({ account_id: 'a', metric_id: 'm', usage_total: total }))
    return { get: () => Promise.resolve({ data }) } as unknown as TallyClient
  }
  const outcomeOf = (client: TallyClient): Promise<unknown> => {
    const expected = expectedUsage()
    expected.add([body('0.1', '20'), body('3.05'), body('999')], [2, 1, 0])
    return expected.requireExact(client, 0).catch(String)
  }

  it('is met by the exact sum of what was acknowledged', async () => {
    expect(await outcomeOf(telling('43.25'))).to.equal(1)
  })

  it('is not met by less, nor where a balance is not told at all', async () => {
    expect(await outcomeOf(telling('43.249999999999999999'))).to.contain('usage is missing')
    expect(await outcomeOf(telling())).to.contain('usage is missing')
  })

  it('is not met by more', async () => {
    expect(await outcomeOf(telling('43.250000000000000001'))).to.contain('usage counts twice')
  })
})
