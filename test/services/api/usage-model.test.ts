import fc from 'fast-check'
import { type Properties, propertyPairs } from '../../../shared/domain/properties.ts'
import type { Aggregation } from '../../../shared/domain/usage-aggregate.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { timesIn } from '../../support/layout.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'
import { makeCorrection } from '../../support/usage-event.ts'
import { UsageModel } from '../../support/usage-model.ts'
import { compareBalances, compareUsage, type UsageAsk } from '../compare-usage.ts'

const AGGREGATIONS: readonly Aggregation[] = ['sum', 'min', 'max', 'avg', 'latest', 'count']
const now = Math.floor(Date.now() / 1_000)

/** Times at the edges of slots, days, months, years and leap days, where an off-by-one error would be visible. */
const EDGES = [
  ...[Date.UTC(2024, 1, 29), Date.UTC(2024, 2, 1), Date.UTC(2024, 0, 1), Date.UTC(2025, 1, 28)],
  Date.UTC(2025, 11, 31),
].map((at) => at / 1_000)
const second = fc
  .tuple(fc.constantFrom(...EDGES, now - (now % 300)), fc.integer({ min: -1, max: 1 }))
  .map(([at, shift]) => at + shift)
const quantity = fc.constantFrom(
  ...['1', '-1', '2.5', '7', '0.000000000000000001', '-0.000000000000000002'],
  ...['99999999999999999999', '-99999999999999999999.999999999999999999'],
)
/** The start or end of a range: any time, or that of the nth report, where a wrong bound would be visible. */
const askedTime = fc.oneof(second, fc.record({ report: fc.nat({ max: 39 }) }))
const VALUES = ['large', '1', '1.0', 'true', 'a=b', 'é', 'null']
const properties = fc.record(
  {
    model: fc.constantFrom<unknown>(...VALUES, 1, 1.5, true, null, ['large']),
    n: fc.constantFrom<unknown>(1, '1'),
  },
  { requiredKeys: [] },
)
const account = fc.nat({ max: 2 })
const source = fc.constantFrom('m0', 'm1', 'm2', 'usd', 'eur')

const history = fc.record({
  reports: fc.array(
    fc.record({
      account,
      source,
      quantity,
      occurredAt: second,
      properties,
      key: fc.constantFrom('a', 'b', 'c'),
    }),
    { minLength: 1, maxLength: 40 },
  ),
  corrections: fc.array(
    fc.record({
      of: fc.nat({ max: 39 }),
      change: fc.oneof(fc.record({ quantity }), fc.record({ properties }), fc.constant<'void'>('void')),
    }),
    { maxLength: 8 },
  ),
  grants: fc.array(
    fc.record({
      account,
      source,
      amount: quantity,
      state: fc.constantFrom('active', 'scheduled', 'expired', 'voided', 'archived'),
    }),
    { maxLength: 12 },
  ),
  /** The order of rows, their repeats, and the ends of inserts. */
  arrival: fc.array(fc.nat({ max: 60 }), { maxLength: 40 }),
  inserts: fc.integer({ min: 1, max: 4 }),
  asks: fc.array(
    fc.record({
      start: askedTime,
      end: askedTime,
      aggregation: fc.constantFrom(...AGGREGATIONS),
      currency: fc.option(fc.constantFrom('USD', 'eur'), { nil: undefined }),
      account,
      property: fc.constantFrom('model', 'n', 'other'),
      value: fc.constantFrom(...VALUES),
    }),
    { minLength: 2, maxLength: 5 },
  ),
})
type History = typeof history extends fc.Arbitrary<infer T> ? T : never

describe('usage and balances against a plain model', function () {
  this.timeout(180_000)
  let running: RunningApi

  before(async () => {
    running = await startApi('usage_model')
    // Merges would collapse repeated rows before they are read.
    if (running.inside !== undefined)
      await running.clickhouse.command({ query: 'SYSTEM STOP MERGES usage_events' })
  })
  after(() => running.stop())

  it('equal a plain loop over random events, corrections and grants, in every operation', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (drawn) => {
        const world = await makeStoredWorld(running, 3, 3)
        const model = new UsageModel()
        await report(world, model, drawn)
        await grant(world, model, drawn)
        await world.change('UPDATE metrics SET archived_at = now() WHERE metric_id = $1', [world.metrics[2]])
        for (const ask of drawn.asks) await compareUsage(world, model, askOf(ask, drawn))
        await compareBalances(world, model)
      }),
      {
        numRuns: timesIn({ embedded: 15, processes: 5 }),
        interruptAfterTimeLimit: 120_000,
        markInterruptAsFailure: true,
      },
    )
  })

  const sourceOf = (world: StoredWorld, name: string) =>
    name.startsWith('m') ? (world.metrics[Number(name.slice(1))] ?? '') : name

  /** Stores rows of reports and corrections in any order, some more than once, and adds them to the model. */
  async function report(world: StoredWorld, model: UsageModel, drawn: History): Promise<void> {
    const rows: UsageEvent[] = []
    const latest = new Map<string, UsageEvent>()
    const seen = new Set<string>()
    for (const [index, { account: of, properties: given, ...fields }] of drawn.reports.entries()) {
      const acceptedOrder = index >> 1 // two at once, so that ids decide
      const event = world.makeEvent({
        ...fields,
        properties: given,
        accountId: world.accounts[of] ?? '',
        source: sourceOf(world, fields.source),
        acceptedAt: (now - 1_000) * 1_000_000 + acceptedOrder,
      })
      if (seen.has(`${event.id} ${acceptedOrder}`)) continue // the first of two reports must be known
      seen.add(`${event.id} ${acceptedOrder}`)
      rows.push(event)
      if (latest.has(event.id)) continue
      latest.set(event.id, event)
      model.report({ ...event, acceptedOrder, properties: given })
    }
    const ids = [...latest.keys()]
    for (const { of, change } of drawn.corrections) {
      const event = latest.get(ids[of % ids.length] ?? '')
      if (event === undefined || event.voided) continue
      const corrected = makeCorrection(event, changeOf(change))
      latest.set(event.id, corrected)
      rows.push(corrected)
      if (change === 'void') model.void(event.id)
      else model.correct(event.id, change)
    }
    const arriving = [...rows, ...drawn.arrival.flatMap((place) => rows[place % rows.length] ?? [])]
    arriving.sort((a, b) => hashOf(a, drawn) - hashOf(b, drawn))
    const size = Math.ceil(arriving.length / drawn.inserts)
    for (let start = 0; start < arriving.length; start += size)
      await running.store(arriving.slice(start, start + size))
  }

  const timeOf = (asked: number | { report: number }, { reports }: History): number =>
    typeof asked === 'number' ? asked : (reports[asked.report % reports.length]?.occurredAt ?? 0)

  const askOf = (ask: History['asks'][number], drawn: History): UsageAsk => {
    const [one, two] = [timeOf(ask.start, drawn), timeOf(ask.end, drawn)]
    return { ...ask, from: Math.min(one, two), to: one < two ? two : one + 1 }
  }

  /** A sort key that does not depend on time. */
  const hashOf = (event: UsageEvent, { inserts }: History) =>
    Number((event.version * 2_654_435_761n + BigInt(inserts)) % 1_000_003n)

  function changeOf(change: History['corrections'][number]['change']): Partial<UsageEvent> {
    if (change === 'void') return { voided: true }
    if (!('properties' in change)) return { quantity: change.quantity }
    const given = change.properties as Properties
    return { properties: JSON.stringify(given), propertyPairs: propertyPairs(given) }
  }

  async function grant(world: StoredWorld, model: UsageModel, { grants }: History): Promise<void> {
    for (const { account: of, source: name, amount, state } of grants) {
      const [accountId = '', granted] = [world.accounts[of], sourceOf(world, name)]
      const id = await world.grant({
        account_id: accountId,
        ...(name.startsWith('m') ? { metric_id: granted } : { currency: granted }),
        amount,
        effective_at: state === 'scheduled' ? now + 3_600 : now - 100,
        ...(state === 'expired' ? { expires_at: now - 50 } : {}),
      })
      if (state === 'voided')
        await world.change('UPDATE grants SET voided_at = now() WHERE grant_id = $1', [id])
      if (state === 'archived')
        await world.change('UPDATE grants SET archived_at = now() WHERE grant_id = $1', [id])
      model.grant({ accountId, source: granted, amount, active: state === 'active' })
    }
  }
})
