import { expect } from 'chai'
import fc from 'fast-check'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { makeAgreement, type PreviewBody } from '../../support/billing-over-http.ts'
import { timesIn } from '../../support/layout.ts'
import { minus, NOTHING, plus, readFraction, writeFraction } from '../../support/naive-fraction.ts'
import { naivePeriod } from '../../support/naive-periods.ts'
import { type RandomWorld, randomWorld } from '../../support/random-worlds.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld } from '../../support/stored-world.ts'
import { naiveFollowed, naiveSimulated, type NaiveSimulation } from './naive-simulation.ts'

type Range = Pick<NaiveSimulation, 'startAt' | 'endAt' | 'cadence'>

const IS_LONG = process.env['FAULT_LONG'] === '1'
const SEED = Number.parseInt(process.env['FAULT_SEED'] ?? '0135274d', 16)
const WORLDS = IS_LONG ? 1_000 : timesIn({ embedded: 16, processes: 5 })
const DAY_S = 86_400
/** The percentage of worlds that must have a preview with which a simulation can be compared. */
const PREVIEWS_PERCENT = 40

describe('simulations of random worlds, over HTTP,', function () {
  this.timeout(IS_LONG ? 1_800_000 : 120_000)
  let running: RunningApi
  before(async () => {
    // Why in one layout: simulations and invoice-worlds read with the same statements in the other.
    running = await startApi('simulation_worlds')
  })
  after(() => running.stop())

  it('answer as a naive implementation and as previews do; a card against itself makes no difference', async () => {
    let previews = 0
    for (const [nth, random] of fc.sample(randomWorld, { seed: SEED, numRuns: WORLDS }).entries()) {
      const { world, request } = nth % 2 === 0 ? random : withWholePeriod(random)
      const at = `world ${nth} of FAULT_SEED=${SEED.toString(16)}`
      const stored = await makeStoredWorld(running, 1, 0)
      const { contractId, ids } = await makeAgreement(running, stored, world)
      const whole: Range = naivePeriod(world.contract, request.second)
      // One whole period; ranges that end at any time; and a range from a second at which lines may have been replaced.
      const ranges: Range[] = [
        whole,
        { startAt: whole.startAt, endAt: Math.min(whole.endAt, whole.startAt + 40 * DAY_S), cadence: 'week' },
        { startAt: request.second, endAt: request.second + 100 * DAY_S + nth, cadence: 'month' },
      ]
      const range = ranges[nth % ranges.length] ?? whole
      const simulate = (card: string, body: object) =>
        stored.api.create<SchemaOf<'Simulation'>>(`/v2/rate-cards/${ids.get(card) ?? ''}/simulate`, {
          start_at: range.startAt,
          end_at: range.endAt,
          ...(range.cadence && { cadence: range.cadence }),
          account_ids: [stored.account],
          ...body,
        })
      const line = naiveFollowed(world.contract, range.startAt)
      const by = (cardId: string, own?: typeof line) =>
        naiveSimulated(world, { ...range, cardId, ratesAt: range.startAt, line: own })
      const followed = line?.rate_card_id === undefined ? '0' : by(line.rate_card_id, line)

      for (const card of ['card_1', 'card_2']) {
        expectFigures(await simulate(card, {}), followed, by(card, line), `${at}: ${card}`)
        expectFigures(await simulate(card, { against: 'none' }), '0', by(card), `${at}: ${card} alone`)
      }
      expectFigures(
        await simulate('card_2', { against: ids.get('card_1') }),
        by('card_1'),
        by('card_2'),
        `${at}: card_2 against card_1`,
      )
      expect(
        (await simulate('card_1', { against: ids.get('card_1') })).data[0]?.difference,
        `${at}: itself`,
      ).to.equal('0')
      if (line?.rate_card_id !== undefined)
        expect((await simulate(line.rate_card_id, {})).data[0]?.difference, `${at}: its own`).to.equal('0')

      const inPeriod = naiveFollowed(world.contract, whole.startAt)
      if (inPeriod?.rate_card_id === undefined) continue
      const preview = await stored.api.create<PreviewBody>('/v2/invoice-previews', {
        contract_id: contractId,
        at: request.second,
      })
      const ofCard = preview.lines.filter(({ rate_id }) => rate_id !== null)
      if (ofCard.length === 0 || ofCard.some(({ share }) => share.seconds < share.of)) continue
      previews++
      // As one period, because a cadence counts from the start of the range: from the 30th if the contract's anchor is
      // the 31st.
      const body = { start_at: whole.startAt, end_at: whole.endAt, cadence: undefined }
      const simulated = await simulate(inPeriod.rate_card_id, body)
      expect(simulated.data[0]?.baseline, `${at}: its preview`).to.equal(sumOf(ofCard))
    }
    expect((previews * 100) / WORLDS, 'previews').to.be.at.least(PREVIEWS_PERCENT)
  })
})

/** Replaces the contract of a world by one that only follows a card, in the whole period. */
function withWholePeriod({ world, request }: RandomWorld): RandomWorld {
  const starts_at = naivePeriod(world.contract, request.second).startAt
  const followed = world.contract.lines.find(({ rate_card_id: card }) => card !== undefined)
  const line = { id: 'line', rate_card_id: 'card_1', ...followed, starts_at }
  delete line.ends_at
  const contract = { ...world.contract, starts_at, lines: [line] }
  delete contract.ends_at
  delete contract.cancel_at
  return {
    world: { ...world, contract, grants: [] },
    request: { second: request.second },
  }
}

function expectFigures(
  { data, totals, has_more }: SchemaOf<'Simulation'>,
  baseline: string,
  candidate: string,
  what: string,
): void {
  const difference = writeFraction(minus(readFraction(candidate), readFraction(baseline)))
  expect(
    data.map((account) => [account.baseline, account.candidate, account.difference]),
    what,
  ).to.deep.equal([[baseline, candidate, difference]])
  expect(totals, what).to.deep.include({ accounts: 1, baseline, candidate, difference })
  expect(has_more, what).to.equal(false)
}

const sumOf = (lines: PreviewBody['lines']): string =>
  writeFraction(lines.reduce((sum, { amount }) => plus(sum, readFraction(amount)), NOTHING))
