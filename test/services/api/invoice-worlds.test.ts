import { expect } from 'chai'
import fc from 'fast-check'
import { answerOf, inOrder, makeAgreement, type PreviewBody } from '../../support/billing-over-http.ts'
import { timesIn } from '../../support/layout.ts'
import { naivePreview } from '../../support/naive-preview.ts'
import { randomWorld } from '../../support/random-worlds.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld } from '../../support/stored-world.ts'

const IS_LONG = process.env['FAULT_LONG'] === '1'
const SEED = Number.parseInt(process.env['FAULT_SEED'] ?? '0135274d', 16)
const WORLDS = IS_LONG ? 1_000 : timesIn({ embedded: 25, processes: 8 })
const now = Math.floor(Date.now() / 1_000)

describe('invoice previews of random worlds, over HTTP,', function () {
  this.timeout(IS_LONG ? 1_800_000 : 120_000)
  let running: RunningApi
  before(async () => {
    running = await startApi('invoice_worlds')
  })
  after(() => running.stop())

  it('answer as a naive implementation does, to the last digit', async () => {
    for (const [nth, { world, request }] of fc
      .sample(randomWorld, { seed: SEED, numRuns: WORLDS })
      .entries()) {
      const stored = await makeStoredWorld(running, 1, 0)
      const { second, as_of = now, known_at: knownAt } = request
      const agreement = await makeAgreement(running, stored, world)
      for (const known_at of knownAt === undefined ? [undefined] : [undefined, knownAt]) {
        const preview = await stored.api.create<PreviewBody>('/v2/invoice-previews', {
          contract_id: agreement.contractId,
          at: second,
          as_of,
          known_at,
        })
        const wanted = inOrder(
          naivePreview(world, { second, as_of, ...(known_at !== undefined && { known_at }) }),
        )
        expect(
          answerOf(preview, agreement, wanted.available),
          `world ${nth} of FAULT_SEED=${SEED.toString(16)}, known at ${known_at ?? 'now'}`,
        ).to.deep.equal(wanted)
      }
    }
  })
})
