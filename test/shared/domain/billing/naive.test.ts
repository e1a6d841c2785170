import { expect } from 'chai'
import fc from 'fast-check'
import { asInVectors, previewOfWorld } from '../../../support/billing-answers.ts'
import { type PreviewJson, readBillingVectors } from '../../../support/billing-vectors.ts'
import { naivePreview } from '../../../support/naive-preview.ts'
import { type RandomWorld, randomWorld } from '../../../support/random-worlds.ts'

const IS_LONG = process.env['FAULT_LONG'] === '1'
const SEED = Number.parseInt(process.env['FAULT_SEED'] ?? '0135274d', 16)
const WORLDS = IS_LONG ? 10_000 : 300
/**
 * The time limit. A world with a difference is made smaller for up to this time; all worlds together take a tenth of
 * it.
 */
const LIMIT_MS = IS_LONG ? 600_000 : 30_000

type Check = (answer: PreviewJson, random: RandomWorld) => boolean

const measured = ({ lines }: PreviewJson) => lines.filter((line) => (line.event_count ?? 0) > 0)
const ratesOf = ({ world }: RandomWorld) =>
  new Map(
    Object.values(world.rate_cards)
      .flat()
      .map((rate) => [rate.id, rate]),
  )

/** Properties that a minimum percentage of worlds must have, because an absent property is never compared. */
const FREQUENT: Record<string, [percent: number, check: Check]> = {
  usage: [50, (answer) => measured(answer).length > 0],
  'usage by value': [25, (answer) => measured(answer).some(({ value }) => value !== null)],
  'usage of the rest': [
    20,
    (answer, random) =>
      measured(answer).some(
        ({ value, rate_id = '' }) => value === null && ratesOf(random).get(rate_id)?.group_by !== undefined,
      ),
  ],
  'usage by filters': [
    8,
    (answer, random) =>
      measured(answer).some(({ rate_id = '' }) => ratesOf(random).get(rate_id)?.filters !== undefined),
  ],
  tiers: [15, ({ lines }) => lines.some(({ tiers = [] }) => tiers.length > 0)],
  'several tiers': [5, ({ lines }) => lines.some(({ tiers = [] }) => tiers.length > 1)],
  'a minimum': [20, ({ lines }) => lines.some(({ bound }) => bound === 'minimum')],
  'a maximum': [5, ({ lines }) => lines.some(({ bound }) => bound === 'maximum')],
  'stated quantities': [30, ({ lines }) => lines.some(({ event_count }) => event_count === null)],
  fractions: [30, ({ lines }) => lines.some(({ exact_amount }) => exact_amount.includes('/'))],
  discounts: [25, ({ lines }) => lines.some((line) => line.discount_percent !== '0' && line.amount !== '0')],
  overrides: [
    15,
    ({ lines }, { world }) =>
      lines.some(({ line_id, rate_id, price_id }) => {
        const agreed = world.contract.lines.find(({ id }) => id === line_id)?.price_overrides ?? []
        return rate_id !== undefined && agreed.some((override) => override.price_id === price_id)
      }),
  ],
  'several pieces': [
    15,
    ({ lines }) =>
      new Set(lines.filter(({ rate_id }) => rate_id !== undefined).map(({ line_id }) => line_id)).size > 1,
  ],
  'a cancellation within the period': [
    15,
    ({ period, lines }, { world }) =>
      world.contract.cancel_at === period.end_at && lines.some(({ share }) => share.seconds < share.of),
  ],
  'usage up to a time': [
    10,
    ({ period }, { request: { as_of = 0 } }) => period.start_at < as_of && as_of < period.end_at,
  ],
  'usage that no rate reaches': [40, ({ unrated }) => unrated.length > 0],
  'negative usage': [5, ({ warnings }) => warnings.some(({ code }) => code === 'negative_quantity')],
  'a contract’s minimum': [25, ({ minimum_adjustment }) => minimum_adjustment !== '0'],
  credit: [25, ({ credit_total }) => credit_total !== '0'],
  'several grants': [8, ({ credits_applied }) => credits_applied.length > 1],
  'credit to come': [5, ({ credits_applied }) => credits_applied.some(({ grant_id }) => grant_id === null)],
}

describe('a second, naive implementation of invoices', () => {
  for (const { id, world, request, expect: wanted } of readBillingVectors().invoices)
    it(`answers as the vectors: ${id}`, () => {
      expect(asInVectors(naivePreview(world, request), wanted)).to.deep.equal(wanted)
    })

  it('answers as ours, of random worlds', function () {
    this.timeout(2 * LIMIT_MS)
    const seen = new Map<string, number>()
    fc.assert(
      fc.property(randomWorld, (random) => {
        const wanted = naivePreview(random.world, random.request)
        for (const [name, [, check]] of Object.entries(FREQUENT))
          if (check(wanted, random)) seen.set(name, (seen.get(name) ?? 0) + 1)
        expect(previewOfWorld(random.world, random.request)).to.deep.equal(wanted)
      }),
      {
        seed: SEED,
        numRuns: WORLDS,
        interruptAfterTimeLimit: LIMIT_MS,
        markInterruptAsFailure: true,
      },
    )
    for (const [name, [percent]] of Object.entries(FREQUENT))
      expect(((seen.get(name) ?? 0) * 100) / WORLDS, name).to.be.at.least(percent)
  })
})
