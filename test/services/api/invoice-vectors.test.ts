import { expect } from 'chai'
import { asInVectors } from '../../support/billing-answers.ts'
import { answerOf, inOrder, makeAgreement, type PreviewBody } from '../../support/billing-over-http.ts'
import { readBillingVectors } from '../../support/billing-vectors.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld } from '../../support/stored-world.ts'

describe('billing vectors, over HTTP,', function () {
  this.timeout(60_000)
  let running: RunningApi
  before(async () => {
    // Why in one layout: invoice-worlds reads with the same statements in the other.
    running = await startApi('invoice_vectors')
  })
  after(() => running.stop())

  for (const { id, world, request, expect: wanted } of readBillingVectors().invoices)
    it(id, async () => {
      const stored = await makeStoredWorld(running, 1, 0)
      const agreement = await makeAgreement(running, stored, world)
      const { second: at, as_of, known_at } = request
      const preview = await stored.api.create<PreviewBody>('/v2/invoice-previews', {
        contract_id: agreement.contractId,
        at,
        as_of,
        known_at,
      })
      const expected = inOrder(wanted)
      expect(asInVectors(answerOf(preview, agreement, wanted.available), expected)).to.deep.equal(expected)
    })
})
