import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { makeAgreement, type PreviewBody } from '../../support/billing-over-http.ts'
import type { WorldJson } from '../../support/billing-vectors.ts'
import { startApi, type RunningApi } from '../../support/start-api.ts'
import { makeStoredWorld } from '../../support/stored-world.ts'

const START = 1_767_225_600
const DAY = 86_400

/** What docs/billing.md tells of: 49 a month and 3 per million tokens, one event late and one put right. */
const WORLD: WorldJson = {
  contract: {
    id: 'contract',
    account_id: 'account',
    currency: 'usd',
    cadence: 'month',
    anchor_at: START,
    starts_at: START,
    lines: [{ id: 'contract_line_plan', starts_at: START, rate_card_id: 'card' }],
  },
  prices: {
    price_base: { currency: 'usd', model: 'flat', amount: '49' },
    price_tokens: { currency: 'usd', model: 'per_unit', unit_amount: '3', per: '1000000' },
  },
  rate_cards: {
    card: [
      { id: 'rate_base', starts_at: 0, price_id: 'price_base' },
      {
        id: 'rate_tokens',
        source: 'metric_tokens',
        aggregation: 'sum',
        starts_at: 0,
        price_id: 'price_tokens',
      },
    ],
  },
  events: [
    { ...tokens('event_first', '1234567', START + 4 * DAY) },
    {
      ...tokens('event_amended', '500000', START + 19.5 * DAY),
      corrections: [{ corrected_at: START + 35.5 * DAY, quantity: '400000' }],
    },
    { ...tokens('event_late', '265433', START + 30.5 * DAY), accepted_at: START + 33.5 * DAY },
  ],
}

function tokens(id: string, quantity: string, occurred_at: number) {
  return { id, source: 'metric_tokens', quantity, occurred_at, accepted_at: occurred_at }
}

describe('what docs/billing.md says', function () {
  this.timeout(60_000)
  let running: RunningApi
  before(async () => {
    running = await startApi('billing_document')
  })
  after(() => running.stop())

  it('of a closed month, and what came later, is what is answered', async () => {
    const document = await readFile(path.join(PROJECT_ROOT, 'docs/billing.md'), 'utf8')
    const told = [...document.matchAll(/^ *```json\n([\s\S]*?)^ *```$/gm)].map(
      ([, json = '']) => JSON.parse(json) as Record<string, unknown>,
    )
    const requests = told.filter((block) => 'known_at' in block)
    const [difference] = told.filter((block) => 'since' in block)
    expect(requests).to.have.length(2)

    const world = await makeStoredWorld(running, 1, 0)
    const { contractId: contract_id, labels } = await makeAgreement(running, world, WORLD)
    const ask = (request: object) =>
      world.api.create<PreviewBody>('/v2/invoice-previews', { ...request, contract_id })
    const [issued, later] = [await ask(requests[0] ?? {}), await ask(requests[1] ?? {})]
    expect(issued.total).to.equal('54.2')
    expect(later.total).to.equal('54.7')
    expect(named(later.difference, labels)).to.deep.equal(difference)
  })
})

/** What the document calls things, in its order. */
function named(difference: PreviewBody['difference'], labels: ReadonlyMap<string, string>): unknown {
  const events = WORLD.events.map(({ id, occurred_at }) => [occurred_at, `${id}…`] as const)
  const json = JSON.stringify(difference, (_name, value: unknown) =>
    typeof value === 'string' && labels.has(value) ? `${labels.get(value) ?? ''}…` : value,
  )
  const shown = JSON.parse(json) as NonNullable<PreviewBody['difference']>
  return {
    ...shown,
    // Of rates that began together the ids decide, which are random.
    lines: shown.lines.toSorted((a, b) => ((a.rate_id ?? '') < (b.rate_id ?? '') ? -1 : 1)),
    events: shown.events.map((one) => ({ ...one, event_id: new Map(events).get(one.occurred_at) })),
  }
}
