import { expect } from 'chai'
import fc from 'fast-check'
import { encodeEvent, needsOf, withIds } from '../../../../clients/sdk/src/reporter/usage-event.ts'
import { ACCOUNT, METRIC } from './fake-tally.ts'

const externalId = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => !text.includes('\0'))

describe('the JSON of an event', () => {
  it('has ids in place of external ids, whatever the rest is', () => {
    fc.assert(
      fc.property(
        externalId,
        externalId,
        fc.dictionary(fc.string(), fc.jsonValue()),
        (account, metric, some) => {
          const properties = { ...some, account_external_id: '"x","account_external_id":"y"' }
          const event = { quantity: '1.50', occurredAt: 5, key: 'k', properties }
          const given = encodeEvent(
            { ...event, account: { externalId: account }, metric: { externalId: metric } },
            0,
          )
          const names = [`account:${account}`, `metric:${metric}`]
          expect(given.needs).to.deep.equal(names)
          expect(needsOf(given.json)).to.deep.equal(names)
          const ids = { [`account:${account}`]: ACCOUNT, [`metric:${metric}`]: METRIC }
          const same = encodeEvent({ ...event, account: ACCOUNT, metric: METRIC }, 0)
          expect(withIds(given.json, ids)).to.equal(same.json)
          expect(needsOf(same.json)).to.deep.equal([])
          expect(same.bytes).to.equal(Buffer.byteLength(same.json))
        },
      ),
      { numRuns: 200 },
    )
  })

  it('gets its time and key once', () => {
    const { json } = encodeEvent({ account: ACCOUNT, currency: 'usd', quantity: 3n }, 1_700_000_000_999)
    const event = JSON.parse(json) as Record<string, unknown>
    expect(event).to.include({
      account_id: ACCOUNT,
      currency: 'usd',
      quantity: '3',
      occurred_at: 1_700_000_000,
    })
    expect(event['idempotency_key']).to.match(/^[0-9a-f-]{36}$/)
  })
})
