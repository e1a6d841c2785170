import { expect } from 'chai'
import fc from 'fast-check'
import { randomInteger, seededRandom } from '../../../clients/reporter/simulate/seeded-random.ts'
import { ApiClient } from '../../support/api-client.ts'
import type { LineKeyBody, PreviewBody } from '../../support/billing-over-http.ts'
import { textOf, unitsOf } from '../../support/decimal-units.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { until } from '../../support/until.ts'
import type { EventBody } from '../../support/usage-world.ts'

const IS_LONG = process.env['FAULT_LONG'] === '1'
const SEED = Number.parseInt(process.env['FAULT_SEED'] ?? '0135274d', 16)
const ROUNDS = IS_LONG ? 60 : 8
const DAY = 86_400
const NOW = Math.floor(Date.now() / 1_000)
/** Most usage is reported for a day that ended three days ago. */
const START = NOW - (NOW % DAY) - 5 * DAY

/** A change of an account whose period is over. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('report' as const), event: drawnEvent() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('repeat' as const), which: fc.nat(), event: drawnEvent() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('amend' as const),
      which: fc.nat(),
      event: drawnEvent(),
      what: fc.constantFrom('quantity', 'properties', 'both'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('void' as const), which: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('grant' as const),
      amount: fc.integer({ min: -30, max: 90 }),
      day: fc.nat({ max: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('void-grant' as const, 'archive-grant' as const),
      which: fc.nat(),
    }),
  },
)

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
type Drawn = Extract<Step, { kind: 'report' }>['event']

function drawnEvent() {
  return fc.record({
    source: fc.constantFrom('calls', 'calls', 'calls', 'storage', 'usd', 'unrated'),
    quantity: fc
      .integer({ min: -500, max: 3_000 })
      .map((thousandths) => textOf(BigInt(thousandths) * 10n ** 15n)),
    at: fc.integer({ min: 0, max: 3 * DAY - 1 }),
    region: fc.constantFrom('eu', 'us', 'none'),
    plan: fc.constantFrom('pro', 'free'),
  })
}

/** A request, and the exact text of its answer. */
interface Asked {
  at: number
  knownAt: number
  text: string
}

const parsed = ({ text }: Asked): PreviewBody => JSON.parse(text) as PreviewBody

describe('previews as they were known', function () {
  this.timeout(IS_LONG ? 1_800_000 : 120_000)
  let tally: TallyUnderTest
  let api: ApiClient

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
  })
  after(() => tally.end())

  const idOf = async (path: string, body: object): Promise<string> =>
    (await api.create<{ id: string }>(path, body)).id

  /** Makes a contract with periods of a day, which began five days ago. Most changes are about days that are over. */
  async function makeWorld() {
    const account = await idOf('/v2/accounts', { name: 'a' })
    const [calls, storage, unrated] = [
      await idOf('/v2/metrics', { name: 'calls' }),
      await idOf('/v2/metrics', { name: 'storage' }),
      await idOf('/v2/metrics', { name: 'unrated' }),
    ]
    const product_id = await idOf('/v2/products', { name: 'p' })
    const priceOf = (terms: object) => idOf('/v2/prices', { product_id, currency: 'usd', ...terms })
    const each = (unit_amount: string) => priceOf({ model: 'per_unit', unit_amount })
    const card = await idOf('/v2/rate-cards', {
      name: 'c',
      currency: 'usd',
      rates: [
        {
          metric_id: calls,
          group_by: 'region',
          prices: [{ value: 'eu', price_id: await each('2') }],
          price_id: await priceOf({
            model: 'graduated',
            tiers: [
              { up_to: '5', unit_amount: '1' },
              { up_to: null, unit_amount: '0.333' },
            ],
          }),
        },
        {
          metric_id: calls,
          aggregation: 'count',
          filters: [{ property: 'plan', values: ['pro'] }],
          price_id: await each('0.15'),
        },
        { metric_id: storage, aggregation: 'max', price_id: await each('1.1') },
        { metric_id: storage, aggregation: 'latest', price_id: await each('0.7') },
        { currency: 'usd', price_id: await priceOf({ model: 'percentage', percent: '2.9' }) },
      ],
    })
    const contract = await idOf('/v2/contracts', {
      account_id: account,
      currency: 'usd',
      cadence: 'day',
      starts_at: START,
      lines: [
        { rate_card_id: card, discount_percent: '5' },
        { price_id: await each('12'), quantity: '3' },
        { minimum_amount: '10' },
        { credit: { amount: '4', currency: 'usd', expires: 'period_end' } },
        { credit: { amount: '1.5', currency: 'usd' } },
      ],
    })
    return { account, contract, sources: { calls, storage, unrated, usd: 'usd' } }
  }

  type World = Awaited<ReturnType<typeof makeWorld>>

  const eventBody = ({ account, sources }: World, { source, quantity, at, region, plan }: Drawn) => ({
    account_id: account,
    ...(source === 'usd' ? { currency: 'usd' } : { metric_id: sources[source as keyof World['sources']] }),
    quantity,
    occurred_at: START + at,
    properties: { plan, ...(region !== 'none' && { region }) },
  })

  const preview = (body: object) => api.post<PreviewBody>('/v2/invoice-previews', body)
  const ask = async (body: object): Promise<{ text: string; body: PreviewBody }> => {
    const answer = await preview(body)
    expect(answer.status, answer.text).to.equal(200)
    return answer
  }

  /** Runs one step after the other. Later steps can change the results of earlier ones. */
  function player(world: World) {
    const events: { id: string; key: string }[] = []
    const voided = new Set<string>()
    const grants: string[] = []
    let made = 0
    return async (one: Step): Promise<void> => {
      switch (one.kind) {
        case 'report': {
          const key = `${world.account} ${made++}`
          const body = { ...eventBody(world, one.event), idempotency_key: key }
          events.push({ id: (await api.create<EventBody>('/v2/events', body)).id, key })
          return
        }
        case 'repeat': {
          const again = events[one.which % events.length]
          if (again === undefined) return
          const { body: found } = await api.get<EventBody>(`/v2/events/${again.id}`)
          const { account_id, metric_id, currency, occurred_at } = found
          const source = metric_id === null ? { currency } : { metric_id }
          const { quantity, properties } = eventBody(world, one.event)
          const body = {
            account_id,
            ...source,
            occurred_at,
            quantity,
            properties,
            idempotency_key: again.key,
          }
          expect((await api.create<EventBody>('/v2/events', body)).id).to.equal(again.id)
          return
        }
        case 'amend': {
          const event = events[one.which % events.length]
          if (event === undefined || voided.has(event.id)) return
          const { quantity, properties } = eventBody(world, one.event)
          const changes = {
            ...(one.what !== 'properties' && { quantity }),
            ...(one.what !== 'quantity' && { properties }),
          }
          const answer = await api.patch(`/v2/events/${event.id}`, changes)
          expect(answer.status, answer.text).to.be.oneOf([202, 409])
          return
        }
        case 'void': {
          const event = events[one.which % events.length]
          if (event === undefined) return
          voided.add(event.id)
          await api.create(`/v2/events/${event.id}/void`, {})
          return
        }
        case 'grant': {
          if (one.amount === 0) return
          const amount = String(one.amount)
          const effective_at = START + one.day * DAY
          grants.push(
            await idOf('/v2/grants', { account_id: world.account, currency: 'usd', amount, effective_at }),
          )
          return
        }
        case 'void-grant':
        case 'archive-grant': {
          const grant = grants[one.which % grants.length]
          if (grant === undefined) return
          await api.create(`/v2/grants/${grant}/${one.kind === 'void-grant' ? 'void' : 'archive'}`, {})
        }
      }
    }
  }

  it('are what was answered then, byte for byte, whatever came later; and what came adds up, line by line and event by event', async () => {
    const history = fc.sample(fc.array(step, { minLength: 12, maxLength: 24 }), {
      seed: SEED,
      numRuns: ROUNDS,
    })
    const world = await makeWorld()
    const { contract: contract_id } = world
    const play = player(world)
    const asked: Asked[] = []
    const random = seededRandom(String(SEED))
    /** Draws a second for known_at, with or without an earlier request for it. */
    const drawSecond = (upTo: number) => Math.min(upTo, NOW + randomInteger(random, Math.max(1, upTo - NOW)))
    const dayOf = (nth: number) => START + (nth % 3) * DAY
    for (const [nth, steps] of history.entries()) {
      // Requests run while changes are written, because an answer as of a past second must not change.
      const writing = (async () => {
        const [first, second] = [steps.slice(0, steps.length / 2), steps.slice(steps.length / 2)]
        await Promise.all(
          [first, second].map(async (some) => {
            for (const one of some) await play(one)
          }),
        )
      })()
      for (let turn = 0; turn < 3; turn++) {
        const at = dayOf(nth + turn)
        const { usage_as_of: upTo } = (await ask({ contract_id, at })).body
        const knownAt = turn < 2 ? upTo : drawSecond(upTo)
        const { text, body } = await ask({ contract_id, at, known_at: knownAt })
        expect(body).to.include({ usage_as_of: knownAt, as_of: knownAt })
        asked.push({ at, knownAt, text })
      }
      await writing
    }
    // A fast machine sends several requests in a second.
    expect(new Set(asked.map(({ text }) => text)).size).to.be.greaterThan(asked.length / 4)
    for (const { at, knownAt, text } of asked)
      expect((await ask({ contract_id, at, known_at: knownAt })).text, `known at ${knownAt}`).to.equal(text)

    let listed = 0
    for (const at of new Set(asked.map((one) => one.at))) {
      const ofDay = asked.filter((one) => one.at === at).sort((a, b) => a.knownAt - b.knownAt)
      for (const [nth, now] of ofDay.entries())
        for (const then of [ofDay[0], ofDay[nth - 1]]) {
          if (then === undefined) continue
          const { body } = await ask({
            contract_id,
            at,
            known_at: now.knownAt,
            difference_since: then.knownAt,
          })
          listed += requireAddedUp(parsed(then), parsed(now), body)
        }
    }
    expect(listed).to.be.greaterThan(20)
  })

  it('are what a preview without known_at answered while nothing came, byte for byte, but for the queries', async () => {
    const world = await makeWorld()
    const play = player(world)
    const { contract: contract_id } = world
    const [first = [], later = []] = fc.sample(fc.array(step, { minLength: 20, maxLength: 20 }), {
      seed: SEED + 1,
      numRuns: 2,
    })
    for (const one of first) await play(one)
    const plain: { at: number; body: PreviewBody }[] = []
    const writtenBy = Math.ceil(Date.now() / 1_000)
    for (const at of [START, START + DAY, START + 2 * DAY])
      plain.push({
        at,
        body: await until(async () => {
          const { body } = await ask({ contract_id, at })
          const isWritten = body.credits_applied.every(({ grant_id }) => grant_id !== null)
          return body.usage_as_of > writtenBy && isWritten && body
        }),
      })
    const asThen = async () => {
      for (const { at, body } of plain) {
        const { usage_as_of: known_at, as_of } = body
        const { text } = await ask({ contract_id, at, known_at, as_of })
        expect(text).to.equal(
          JSON.stringify({ ...body, lines: body.lines.map((line) => ({ ...line, query: null })) }),
        )
      }
    }
    await asThen()
    for (const one of later) await play(one)
    await asThen()
    for (const { at, body } of plain) {
      const { usage_as_of: since, as_of } = body
      const now = await until(async () => {
        const answer = await ask({ contract_id, at, as_of, difference_since: since })
        return answer.body.usage_as_of > Date.now() / 1_000 - 3 && answer.body
      })
      const { difference, ...rest } = now
      expect(difference?.since).to.equal(since)
      const asKnown = await ask({ contract_id, at, as_of, known_at: now.usage_as_of })
      expect(rest).to.deep.equal(asKnown.body)
      requireAddedUp(body, asKnown.body, now)
    }
  })
})

const keyOf = ({ contract_line_id, rate_id, value, start_at }: LineKeyBody): string =>
  JSON.stringify([contract_line_id, rate_id, value, start_at])

/** @returns the number of events in the difference */
function requireAddedUp(then: PreviewBody, now: PreviewBody, answer: PreviewBody): number {
  const { difference, ...rest } = answer
  expect(rest).to.deep.equal(now)
  if (difference === undefined) return expect.fail('no difference was told')
  const isChange = (
    change: { then: string | null; now: string | null; difference: string },
    a?: string,
    b?: string,
  ) => {
    expect(change).to.deep.equal({
      then: a ?? null,
      now: b ?? null,
      difference: textOf(unitsOf(b ?? '0') - unitsOf(a ?? '0')),
    })
  }
  isChange(difference.subtotal, then.subtotal, now.subtotal)
  isChange(difference.minimum_adjustment, then.minimum_adjustment, now.minimum_adjustment)
  isChange(difference.total, then.total, now.total)
  isChange(difference.credit_total, then.credit_total, now.credit_total)
  isChange(difference.amount_due, then.amount_due, now.amount_due)
  const [before, after] = [then, now].map(({ lines }) => new Map(lines.map((line) => [keyOf(line), line])))
  const keys = difference.lines.map(keyOf)
  expect(keys).to.have.members([...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])])
  for (const [lines, of] of [
    [then.lines, before],
    [now.lines, after],
  ] as const)
    expect(
      keys.filter((key) => of?.has(key)),
      'in the order of the invoice',
    ).to.deep.equal(lines.map(keyOf))
  for (const line of difference.lines) {
    const [a, b] = [before?.get(keyOf(line)), after?.get(keyOf(line))]
    isChange(line.quantity, a?.quantity, b?.quantity)
    isChange(line.amount, a?.amount, b?.amount)
    if (difference.has_more) continue
    const { aggregation } = (b ?? a) as unknown as { aggregation: string | null }
    const counted = difference.events.map((event) =>
      [event.now, event.then].map((state) => {
        if (state?.lines.some((key) => keyOf(key) === keyOf(line)) !== true) return 0n
        return aggregation === 'count' ? unitsOf('1') : unitsOf(state.quantity)
      }),
    )
    const explained = counted.reduce((sum, [is = 0n, was = 0n]) => sum + is - was, 0n)
    if (aggregation === 'sum' || aggregation === 'count')
      expect(textOf(explained), keyOf(line)).to.equal(line.quantity.difference)
    else if (aggregation !== null && counted.every(([is, was]) => is === 0n && was === 0n))
      expect(line.quantity.difference, keyOf(line)).to.equal('0')
  }
  return difference.events.length
}
