import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { randomInteger, seededRandom } from '../../clients/reporter/simulate/seeded-random.ts'
import { usageEventRepository } from '../../shared/clickhouse/events/usage-events.ts'
import type { Aggregation } from '../../shared/domain/usage-aggregate.ts'
import { usageEventId } from '../../shared/domain/usage-event.ts'
import { readLogLineSubjects } from '../../shared/usage-lines/log-line-subjects.ts'
import type { Answered, ApiClient } from '../support/api-client.ts'
import { countMarks, EPOCH_CACHED_MS, expectRollupsExact } from '../support/rollup-stage.ts'
import { POINTS_OF, type RollupStep, takeRollupStep } from '../support/rollup-steps.ts'
import { until } from '../support/until.ts'
import { UsageModel } from '../support/usage-model.ts'
import type { EventBody } from '../support/usage-world.ts'
import { compareBalances, compareUsage } from './compare-usage.ts'
import { type EventOperation, type EventState, isEqual, possibleStates } from './possible-events.ts'
import { startWholeStage, type WholeStage } from './whole-stage.ts'

const AGGREGATIONS: readonly Aggregation[] = ['sum', 'min', 'max', 'avg', 'latest', 'count']
const now = Math.floor(Date.now() / 1_000)
/** The number of histories; undefined runs histories for a limited time. */
const HISTORIES = process.env['FAULT_LONG'] === '1' ? 60 : undefined
const SHORT_MS = 15_000

const EVENTS = 8
/** Short, so that slots of the same hour are in different states. */
const SLOT_S = 60

const quantity = fc.constantFrom(
  ...['1', '-1', '2.5', '7', '0.000000000000000001', '99999999999999999999.999999999999999999'],
)
const VALUES = ['large', 'small', '1', 'true']
const properties = fc.record(
  {
    model: fc.constantFrom<unknown>(...VALUES, 1, true, null, ['large']),
    n: fc.constantFrom<unknown>(1, '1'),
  },
  { requiredKeys: [] },
)
/** The index of an event; a higher index than that of the last reported event is an unknown event. */
const of = fc.nat({ max: EVENTS })
const change = fc.oneof(
  fc.record({ quantity }),
  fc.record({ properties }),
  fc.record({ quantity, properties }),
)
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      of: fc.nat({ max: EVENTS - 1 }),
      quantity,
      properties,
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('change' as const), of, change }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('void' as const), of }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      corrections: fc.uniqueArray(fc.record({ of, change: fc.option(change, { nil: undefined }) }), {
        minLength: 1,
        maxLength: 4,
        selector: (correction) => correction.of,
      }),
    }),
  },
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

/** A step of a rollup service at the same time, and its crash point. */
const upTo = fc.constantFrom(30 * 3_600, 25 * 3_600, 3 * 3_600, 900, 2 * SLOT_S)
const crash = (kind: RollupStep['kind']) =>
  fc.option(fc.constantFrom(...POINTS_OF[kind]), { freq: 2, nil: undefined })
const rollupStep = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.record({ kind: fc.constant('close' as const), upTo }),
      crash: crash('close'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ step: fc.record({ kind: fc.constant('late' as const) }), crash: crash('late') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.record({ kind: fc.constant('rebuild' as const), upTo }),
      crash: crash('rebuild'),
    }),
  },
)

const history = fc.record({
  builtUpTo: upTo,
  /** The events that may be reported: account, source and time. */
  events: fc.array(
    fc.record({
      account: fc.nat({ max: 1 }),
      source: fc.constantFrom('m0', 'm1', 'usd'),
      occurredAt: fc.constantFrom(
        now - (now % 300),
        now - (now % 300) - 1,
        now - (now % 300) - 600,
        now - 86_400,
        now - 40 * 86_400,
        now - 400 * 86_400,
      ),
    }),
    { minLength: EVENTS, maxLength: EVENTS },
  ),
  /** Groups of concurrent operations, one group after the other. */
  groups: fc.array(
    fc.record({
      held: fc.boolean(),
      operations: fc.array(operation, { minLength: 1, maxLength: 4 }),
      /** Steps of separate rollup services; only one builds at a time. */
      rollups: fc.uniqueArray(rollupStep, {
        maxLength: 2,
        comparator: (one, other) => one === 'rebuild' && other === 'rebuild',
        selector: ({ step }) => step.kind,
      }),
    }),
    {
      minLength: 4,
      maxLength: 12,
    },
  ),
  seed: fc.nat(),
  asks: fc.array(
    fc.record({
      reach: fc.constantFrom(1, 301, 86_401, 50 * 86_400, 500 * 86_400),
      /**
       * The end of a range: in the future, within the current slot, at the edge of an ended slot, or in a day of long
       * ago.
       */
      till: fc.constantFrom(300, 300, -1, -(now % 300), -(now % 300) - 599, -86_399, -40 * 86_400 + 1),
      currency: fc.option(fc.constantFrom('USD'), { nil: undefined }),
      account: fc.nat({ max: 1 }),
      property: fc.constantFrom('model', 'n'),
      value: fc.constantFrom(...VALUES),
    }),
    { minLength: 4, maxLength: 6 },
  ),
})
type History = typeof history extends fc.Arbitrary<infer T> ? T : never

type Corrected = EventBody & { corrected_at?: number; voided_at?: number }
type Revisions = { revision: number; api_key_id: string | null; event: Corrected }[]

const HELD_MS = 60

describe('histories of reports and corrections against a plain model, over HTTP', function () {
  this.timeout(HISTORIES === undefined ? 300_000 : 3_600_000)
  let stage: WholeStage

  before(async () => {
    stage = await startWholeStage('corrections_model', { slotS: SLOT_S })
  })
  after(() => stage.close())

  it('equal what the revisions say, in every answer, with rollups and without, in whatever order rows arrive', async () => {
    const startedAt = performance.now()
    let played = 0
    await fc.assert(
      fc.asyncProperty(history, async (drawn) => {
        if (HISTORIES === undefined && played >= 3 && performance.now() - startedAt > SHORT_MS) return
        const world = await makeWorld()
        await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: drawn.builtUpTo })
        const done = await play(world, drawn)
        const model = await modelOf(world, done)
        await stage.loaded()
        let compared = 0
        const compareAll = async (api: ApiClient) => {
          const asked = { ...world, api }
          for (const [n, ask] of drawn.asks.entries())
            await compareUsage(asked, model, {
              ...ask,
              aggregation: AGGREGATIONS[(n + compared) % AGGREGATIONS.length] ?? 'sum',
              from: Math.min(now - ask.reach, now + ask.till - 1),
              to: now + ask.till,
            })
          compared++
          await compareBalances(asked, model)
        }
        for (const api of [world.api, world.rawApi]) await compareAll(api)
        await workOff()
        await sleep(EPOCH_CACHED_MS)
        await expectRollupsExact(stage.clickhouse, world.namespaceId)
        await compareAll(world.api)
        await compareList(world, done)
        await arriveInAnotherOrder(world, drawn.seed)
        await compareAll(world.rawApi)
        played++
      }),
      { numRuns: HISTORIES ?? 12, endOnFailure: true },
    )
    process.stdout.write(`    (${played} histories)\n`)
  })

  type World = Awaited<ReturnType<typeof makeWorld>>
  /** The operations on each event, group by group. */
  type Done = Map<string, { event: History['events'][number]; groups: EventOperation[][] }>

  async function makeWorld() {
    const caller = await stage.newCaller()
    const create = async (target: string) =>
      (await caller.api.create<{ id: string }>(target, { name: 'n' })).id
    const accounts = [await create('/v2/accounts'), await create('/v2/accounts')]
    const metrics = [await create('/v2/metrics'), await create('/v2/metrics')]
    return { ...caller, accounts, metrics }
  }

  /** Closes ended slots, and processes every mark. */
  async function workOff(): Promise<void> {
    await until(async () => {
      await takeRollupStep(stage.computing, { kind: 'close', upTo: 0 })
      await takeRollupStep(stage.computing, { kind: 'late' })
      return (await countMarks(stage.clickhouse)) === 0
    })
  }

  const sourceOf = ({ metrics }: World, name: string) =>
    name.startsWith('m') ? (metrics[Number(name.slice(1))] ?? '') : name

  const idOf = (world: World, { account, source, occurredAt }: History['events'][number], n: number) =>
    usageEventId(world.namespaceId, world.accounts[account] ?? '', sourceOf(world, source), occurredAt, {
      kind: 'event',
      key: `key ${n}`,
    })

  /** Sends all requests, and records each answer. */
  async function play(world: World, drawn: History): Promise<Done> {
    const ids = drawn.events.map((event, n) => idOf(world, event, n))
    const nobodys = `event_${(now - 5).toString(16)}${'e'.repeat(24)}`
    const named = (n: number) => ids[n] ?? nobodys
    const done: Done = new Map()
    for (const [n, event] of drawn.events.entries())
      done.set(ids[n] ?? '', { event, groups: drawn.groups.map(() => []) })
    for (const [at, { held, operations, rollups }] of drawn.groups.entries()) {
      const note = (id: string, noted: EventOperation) => done.get(id)?.groups[at]?.push(noted)
      if (held) await stage.holdLoader()
      const sending: Promise<unknown>[] = operations.map((asked) => send(world, drawn, asked, named, note))
      sending.push(...rollups.map(({ step, crash }) => takeRollupStep(stage.computing, step, crash)))
      // Events of this group are corrected before they are loaded.
      if (held) {
        await sleep(HELD_MS)
        await stage.letLoaderGoOn()
      }
      await Promise.all(sending)
    }
    return done
  }

  async function send(
    world: World,
    drawn: History,
    asked: Operation,
    named: (n: number) => string,
    note: (id: string, noted: EventOperation) => void,
  ): Promise<void> {
    const { api } = world
    if (asked.kind === 'report') {
      const { account, source, occurredAt } = drawn.events[asked.of] as History['events'][number]
      const answer = await api.post<Corrected>('/v2/events', {
        account_id: world.accounts[account],
        ...(source.startsWith('m') ? { metric_id: sourceOf(world, source) } : { currency: source }),
        quantity: asked.quantity,
        properties: asked.properties,
        occurred_at: occurredAt,
        idempotency_key: `key ${asked.of}`,
      })
      expect(answer.body.id).to.equal(named(asked.of))
      note(named(asked.of), {
        kind: 'report',
        quantity: asked.quantity,
        properties: asked.properties,
        outcome: outcomeOf(answer),
      })
      return
    }
    if (asked.kind === 'batch') {
      const answer = await api.post('/v2/events/corrections', {
        corrections: asked.corrections.map((correction) => ({
          event_id: named(correction.of),
          ...(correction.change ?? { void: true }),
        })),
      })
      expect(answer.status, answer.text).to.be.oneOf([202, 409, 422])
      for (const correction of asked.corrections)
        note(named(correction.of), {
          kind: correction.change === undefined ? 'void' : 'change',
          ...correction.change,
          outcome: answer.status === 202 ? 202 : 'not done',
        })
      return
    }
    const id = named(asked.of)
    const answer =
      asked.kind === 'void'
        ? await api.post<Corrected>(`/v2/events/${id}/void`, {})
        : await api.patch<Corrected>(`/v2/events/${id}`, asked.change)
    note(id, {
      kind: asked.kind,
      ...(asked.kind === 'void' ? {} : asked.change),
      outcome: outcomeOf(answer),
      ...(answer.status === 202 ? { answer: stateOf(answer.body) } : {}),
    })
    if (asked.of === EVENTS) expect(answer.status).to.equal(404)
  }

  function outcomeOf({ status, text }: Answered<unknown>): 202 | 404 | 409 {
    if (status === 202 || status === 404 || status === 409) return status
    throw new Error(`answered ${status}: ${text}`)
  }

  const stateOf = ({ quantity: shown, properties: given, voided_at: voidedAt }: Corrected): EventState => ({
    quantity: shown,
    properties: given,
    voided: voidedAt !== undefined,
  })

  /**
   * Makes the model after all operations. If several outcomes are possible, the API's state must be one of them, and
   * the model takes that one.
   */
  async function modelOf(world: World, done: Done): Promise<UsageModel> {
    const { api, namespaceId, keyId } = world
    await stage.loaded()
    const stored = await usageEventRepository(stage.clickhouse).listByIds(namespaceId, [...done.keys()])
    const accepted = [...stored.values()].map(({ acceptedAt }) => acceptedAt).sort((a, b) => a - b)
    const model = new UsageModel()
    for (const [id, { event, groups }] of done) {
      const possible = possibleStates(groups)
      expect(possible, `no order of ${JSON.stringify(groups)} explains its answers`).not.to.deep.equal([])
      const current = await api.get<Corrected>(`/v2/events/${id}`)
      if (current.status === 404) {
        expect(possible).to.deep.equal([undefined])
        continue
      }
      const state = stateOf(current.body)
      const isPossible = possible.some((other) => other !== undefined && isEqual(other, state))
      expect(isPossible, `${JSON.stringify(state)} after ${JSON.stringify(groups)}`).to.equal(true)
      const { data } = (await api.get<{ data: Revisions }>(`/v2/events/${id}/revisions`)).body
      expectTrail(data, current.body, groups.flat(), keyId)
      if (state.voided) continue
      model.report({
        id,
        accountId: world.accounts[event.account] ?? '',
        source: sourceOf(world, event.source),
        quantity: state.quantity,
        properties: state.properties,
        occurredAt: event.occurredAt,
        acceptedOrder: accepted.indexOf(stored.get(id)?.acceptedAt ?? 0),
      })
    }
    return model
  }

  /**
   * Checks the revisions: each follows from the one before by an answered operation, and the last one is the present
   * version.
   */
  function expectTrail(
    revisions: Revisions,
    current: Corrected,
    operations: readonly EventOperation[],
    keyId: string,
  ): void {
    const made = operations.filter(({ kind, outcome }) => kind !== 'report' && outcome === 202)
    expect(revisions.length - 1).to.be.at.most(made.length)
    expect(revisions.at(-1)?.event).to.deep.equal(current)
    for (const [n, { revision, api_key_id: key, event }] of revisions.entries()) {
      expect(revision).to.equal(n)
      const before = revisions[n - 1]?.event
      if (before === undefined) {
        expect([key, event.corrected_at, event.voided_at]).to.deep.equal([null, undefined, undefined])
        continue
      }
      expect(key).to.equal(keyId)
      const isMade = made.some(({ kind, quantity: to, properties: given }) =>
        isEqual(stateOf(event), {
          quantity: to ?? before.quantity,
          properties: given ?? before.properties,
          voided: kind === 'void',
        }),
      )
      expect(isMade, `revision ${n}, ${JSON.stringify(event)}, of ${JSON.stringify(made)}`).to.equal(true)
    }
  }

  /** Checks that each reported event is listed once in its present version, including voided events. */
  async function compareList({ api }: World, done: Done): Promise<void> {
    const reported = [...done].filter(([, { groups }]) => groups.flat().some(({ kind }) => kind === 'report'))
    const listed = await until(async () => {
      const { data } = (await api.get<{ data: Corrected[] }>('/v2/events')).body
      return data.length >= reported.length && data
    })
    expect(listed.map(({ id }) => id).sort()).to.deep.equal(reported.map(([id]) => id).sort())
    for (const event of listed) expect((await api.get(`/v2/events/${event.id}`)).body).to.deep.equal(event)
  }

  /** Empties ClickHouse, and stores the lines of the log in any order, some more than once, in several inserts. */
  async function arriveInAnotherOrder({ namespaceId }: World, seed: number): Promise<void> {
    const random = seededRandom(`arrival ${seed}`)
    const lines = (await stage.readLines()).filter((line) => line.includes(namespaceId))
    const arriving = [...lines, ...lines.filter(() => random() < 0.3)]
    for (let left = arriving.length - 1; left > 0; left--) {
      const other = randomInteger(random, left + 1)
      ;[arriving[left], arriving[other]] = [arriving[other] ?? '', arriving[left] ?? '']
    }
    const size = Math.max(1, Math.ceil(arriving.length / (1 + randomInteger(random, 5))))
    await stage.latestSums.whileWriting(readLogLineSubjects(lines.join('\n')) ?? [], async () => {
      for (const table of ['usage_events', 'usage_events_by_acceptance'])
        await stage.clickhouse.command({ query: `TRUNCATE TABLE ${table}` })
      for (let start = 0; start < arriving.length; start += size)
        await usageEventRepository(stage.clickhouse).insertLines(
          Buffer.from(arriving.slice(start, start + size).join('\n')),
        )
    })
  }
})
