import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { runCommand } from '../../services/operator/run-command.ts'
import { queryRows } from '../../shared/clickhouse/clickhouse.ts'
import { requireUsageStore } from '../../shared/clickhouse/require-usage-store.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { openPurges } from '../../shared/redis/purges.ts'
import type { Answered, ApiClient } from '../support/api-client.ts'
import { testLog } from '../support/log.ts'
import { turned } from '../support/turned-json.ts'
import { until } from '../support/until.ts'
import { type BreakingPool, breakingPool } from './break-commits.ts'
import { type Crash, type KeyAnswer, type KeyState, statesAfter, type Wrong } from './keyed-model.ts'
import {
  type Content,
  KEYED_ROUTES,
  type KeyedRoute,
  type KeySlot,
  type ThingKind,
  type TrailEntry,
} from './keyed-routes.ts'
import { startWholeStage, type WholeStage } from './whole-stage.ts'

const IS_LONG = process.env['FAULT_LONG'] === '1'
const SEED = process.env['FAULT_SEED'] ?? randomBytes(4).toString('hex')
const HISTORIES = IS_LONG ? 2_000 : 200

const CRASHES: Record<KeyedRoute['kind'], readonly Crash[]> = {
  report: ['gateway-accepted', 'gateway-keyed', 'gateway-appending', 'gateway-appended', 'gateway-completed'],
  change: ['before commit', 'after commit'],
}

/** Routes that differ little: those for two contracts or two cards, and those of reports. */
const SIBLINGS = new Map(
  KEYED_ROUTES.flatMap((route) => {
    const name = route.name.replace('/A/', '/B/').replace(/events$/, 'events/batch')
    const other = KEYED_ROUTES.find((one) => one.name === name && one !== route)
    return other === undefined ? [] : [[route, other] as const, [other, route] as const]
  }),
)

/** A request of one of the slots of a history. */
const request = fc.record({
  content: fc.nat({ max: 1 }),
  /** Whether it has the form of another JSON library. */
  isTurned: fc.boolean(),
  wrong: fc.oneof(
    { weight: 9, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom<Wrong>('in itself', 'as things are') },
  ),
})
const content = fc.record({ isTimed: fc.boolean(), isOwned: fc.boolean() })
const history = fc.record({
  /** Keys on routes; keys with one number have the same text on every route. */
  slots: fc.array(
    fc.record({
      route: fc.oneof(fc.constantFrom(...SIBLINGS.keys()), fc.constantFrom(...KEYED_ROUTES)),
      key: fc.nat({ max: 1 }),
      /** Whether the same key is also used on the most similar route. */
      hasSibling: fc.boolean(),
      contents: fc.tuple(content, content),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  steps: fc.array(
    fc.record({
      slot: fc.nat({ max: 3 }),
      requests: fc.array(request, { minLength: 1, maxLength: 2 }),
      /** The number of the crash point among those of the route. */
      crash: fc.option(fc.nat({ max: 4 }), { freq: 2, nil: undefined }),
    }),
    { minLength: 2, maxLength: 8 },
  ),
  /** Whether begun reports are completed. */
  settles: fc.boolean(),
})
type History = typeof history extends fc.Arbitrary<infer T> ? T : never
type Request = typeof request extends fc.Arbitrary<infer T> ? T : never

/** A slot, and its results so far. */
interface PlayedSlot extends KeySlot {
  route: KeyedRoute
  key: string
  states: KeyState[]
  /** The resources that answers have named; there must be only one. */
  named: Set<string>
  /** For messages. */
  told: string[]
}

/** A content that differs from both of a slot. */
const WRONG_CONTENT = 2
const NO_ACCOUNT = `account_${'0'.repeat(32)}`

describe('histories of requests with an Idempotency-Key against the table of docs/reference/keys.md', function () {
  this.timeout(IS_LONG ? 3_600_000 : 300_000)
  let stage: WholeStage
  let breaking: BreakingPool
  let crash: Crash | undefined
  let live: Awaited<ReturnType<WholeStage['newCaller']>>
  let test: typeof live
  const played: PlayedSlot[] = []
  const seen = new Map<KeyAnswer, number>()

  before(async () => {
    stage = await startWholeStage('keyed_model', {
      reached: (point) => {
        if (point !== crash) return
        crash = undefined
        throw new Error(`crashed at ${point}`)
      },
      poolOfApi: (pool) => (breaking = breakingPool(pool)).pool,
    })
    await requireUsageStore(stage.clickhouse, stage.db.pool, { enters: true })
    live = await stage.newCaller()
    test = await stage.newCaller('test')
  })
  after(() => stage.close())

  it('are answered as it has them, and each 2xx stays and counts once', async () => {
    process.stdout.write(`    (seed ${SEED}, FAULT_SEED=${SEED} runs it again)\n`)
    const startedAt = performance.now()
    await fc.assert(
      fc.asyncProperty(history, async (drawn) => {
        await play(drawn)
      }),
      { numRuns: HISTORIES, seed: Number.parseInt(SEED, 16) | 0, endOnFailure: true },
    )
    const s = ((performance.now() - startedAt) / 1_000).toFixed(0)
    const answers = [...seen].map(([answer, count]) => `${count} ${answer}`).join(', ')
    process.stdout.write(`    (${HISTORIES} histories in ${s} s: ${answers})\n`)
    // The test is meaningful only if the histories contain every answer.
    const all = ['done', 'used before', 'used before, otherwise', 'begun otherwise', 'refused', 'lost']
    expect([...seen.keys()]).to.include.members(all)
  })

  it('leave of each key what it was answered to have made, once, and nothing of what was refused', async () => {
    await stage.loaded()
    await expectEvents()
    await expectTrail()
  })

  it('leave a log that the audit finds nothing in, nor two contents under one id', async () => {
    const end = Date.now() * 1_000
    await until(async () => (await stage.listedUpTo()) > end + 1_000_000)
    const { code, output } = await audit()
    expect(code, output).to.equal(0)
    expect(output).to.match(/^ +lost +0$/m)
    expect(output).to.match(/^ +reported otherwise +0$/m)
    expect(output).to.match(/^ +counted +[1-9]\d+$/m)
  })

  async function play({ slots: drawn, steps, settles }: History): Promise<void> {
    const thing = thingsOf()
    const slots = new Map<string, PlayedSlot>()
    const ofHistory = `history ${played.length}`
    const places = drawn
      .flatMap((one) => {
        const sibling = one.hasSibling ? SIBLINGS.get(one.route) : undefined
        return sibling === undefined ? [one] : [one, { ...one, route: sibling }]
      })
      .map(({ route, key, contents }) => {
        const text = `${ofHistory} key ${key}`
        const slot = slots.get(`${route.name} ${text}`) ?? newSlot(route, text, contents)
        slots.set(`${route.name} ${text}`, slot)
        return slot
      })
    function newSlot(route: KeyedRoute, key: string, contents: readonly Content[]): PlayedSlot {
      const number = played.length
      const slot = {
        ...{ route, key, contents, number, thing },
        name: `${key} of ${route.name}`,
        states: ['free' as KeyState],
        named: new Set<string>(),
        told: [],
      }
      played.push(slot)
      return slot
    }
    for (const { slot: at, requests, crash: place } of steps) {
      const slot = places[at % places.length] as PlayedSlot
      const crashes = CRASHES[slot.route.kind]
      await sendAtOnce(slot, requests, place === undefined ? undefined : crashes[place % crashes.length])
    }
    if (!settles) return
    for (const slot of slots.values())
      for (const state of slot.states) {
        if (!state.startsWith('begun')) continue
        const wanted = { content: Number(state.slice(-1)), isTurned: true, wrong: undefined }
        await sendAtOnce(slot, [wanted], undefined)
        expect(
          slot.states.every((after) => after.startsWith('done')),
          slot.told.join('\n'),
        ).to.equal(true)
      }
  }

  /** Sends requests of one slot at once, and computes the possible states of its key from the answers. */
  async function sendAtOnce(
    slot: PlayedSlot,
    requests: readonly Request[],
    place: Crash | undefined,
  ): Promise<void> {
    const { route, states } = slot
    const bodies = await Promise.all(requests.map((one) => bodyOf(slot, one)))
    const target = await route.target(slot)
    crash = place
    breaking.breakAt(place === 'before commit' || place === 'after commit' ? place : undefined)
    const { api } = route.isForTests === true ? test : live
    const answers = await Promise.all(bodies.map(({ body }) => post(api, target, slot.key, body)))
    crash = undefined
    breaking.breakAt(undefined)
    const attempts = answers.map((answer, n) => ({
      content: bodies[n]?.content ?? 0,
      wrong: bodies[n]?.wrong,
      answer: answerOf(answer),
    }))
    slot.told.push(
      `${states.join(' or ')}: ${place ?? 'no crash'}, ` +
        attempts.map((attempt, n) => `${JSON.stringify(attempt)} ${answers[n]?.text ?? ''}`).join(' beside '),
    )
    for (const [n, answer] of answers.entries()) {
      const name = nameIn(slot, answer)
      if (name !== undefined) slot.named.add(name)
      const told = attempts[n]?.answer ?? 'lost'
      seen.set(told, (seen.get(told) ?? 0) + 1)
    }
    expect(slot.named.size, `one thing is made:\n${slot.told.join('\n')}`).to.be.at.most(1)
    slot.states = statesAfter(route.kind, states, attempts, place)
    expect(slot.states, `${slot.name}, so far:\n${slot.told.join('\n')}`).not.to.deep.equal([])
  }

  interface Body {
    body: object
    content: number
    wrong: Wrong | undefined
  }

  async function bodyOf(slot: PlayedSlot, { content: wanted, isTurned, wrong }: Request): Promise<Body> {
    const { route } = slot
    const body = await route.body(slot, wrong === undefined ? wanted : WRONG_CONTENT)
    const content = route.hasOneContent === true ? 0 : wanted
    if (wrong === undefined) return { body: isTurned ? otherwiseWritten(route, body) : body, content, wrong }
    const { impossible } = route
    if (wrong === 'as things are' && impossible !== undefined)
      return { body: { ...body, ...impossible }, content: WRONG_CONTENT, wrong }
    const events = (body as { events?: object[] }).events
    const spoiled =
      route.kind === 'change'
        ? { ...body, surprise: 1 }
        : events === undefined
          ? { ...body, account_id: NO_ACCOUNT }
          : { events: [...events, { ...events[0], account_id: NO_ACCOUNT }] }
    return { body: spoiled, content: WRONG_CONTENT, wrong: 'in itself' }
  }

  /** Writes a body in another order, with other digits and letters that do not change its meaning. */
  function otherwiseWritten({ kind }: KeyedRoute, body: object): object {
    if (kind === 'change') return turned(body)
    const events = (body as { events?: object[] }).events
    const written = (event: object) => {
      const { quantity, currency } = event as { quantity: string; currency?: string }
      return turned({
        ...event,
        quantity: `0${quantity}0`,
        ...(currency === undefined ? {} : { currency: currency.toUpperCase() }),
      })
    }
    return events === undefined ? written(body) : { events: events.map(written) }
  }

  const post = (api: ApiClient, target: string, key: string, body: object) =>
    api.post<Record<string, unknown>>(target, body, { headers: { 'Idempotency-Key': key } })

  const USED =
    /^Idempotency-Key: this key was used before, for (.+?)(, with another content: nothing of this request was done)?$/
  const MANY = /^3 events, the first of them (event_\w+)$/

  function answerOf({ status, text }: Answered<unknown>): KeyAnswer {
    if (status === 200 || status === 202) return 'done'
    if (status === 500 || status === 503) return 'lost'
    const used = USED.exec(text)
    if (used !== null && status === 409)
      return used[2] === undefined ? 'used before' : 'used before, otherwise'
    if (status === 422 && text.startsWith('Idempotency-Key: another request has begun with this key'))
      return 'begun otherwise'
    expect(text, 'a 409 that names nothing').not.to.contain('Idempotency-Key')
    return 'refused'
  }

  /** The resource that an answer names. */
  function nameIn({ route }: PlayedSlot, { status, text, body }: Answered<Record<string, unknown>>) {
    if (status === 200 || status === 202) return route.idOf(body) || undefined
    const name = USED.exec(text)?.[1]
    return name === undefined ? undefined : (MANY.exec(name)?.[1] ?? name)
  }

  /** Makes the resources of a history, each when it is first used. */
  function thingsOf(): KeySlot['thing'] {
    const made = new Map<string, Promise<string>>()
    const create = async (target: string, body: object): Promise<string> => {
      const answer = await live.api.create<{ id?: string; api_key?: { id: string } }>(target, body)
      return answer.id ?? answer.api_key?.id ?? ''
    }
    const makers: Record<ThingKind, () => Promise<string>> = {
      account: () => create('/v2/accounts', { name: 'a' }),
      metric: () => create('/v2/metrics', { name: 'm' }),
      product: () => create('/v2/products', { name: 'p' }),
      price: async () =>
        create('/v2/prices', {
          product_id: await thing('product', 'of all'),
          currency: 'usd',
          model: 'flat',
          amount: '1',
        }),
      card: () => create('/v2/rate-cards', { name: 'c', currency: 'usd' }),
      contract: async () =>
        create('/v2/contracts', {
          account_id: await thing('account', 'of all'),
          currency: 'usd',
          cadence: 'month',
        }),
      'api key': () => create('/v2/api-keys', { name: 'k', permissions: ['read:all'] }),
    }
    const thing = (kind: ThingKind, which: string): Promise<string> => {
      const name = `${kind} ${which}`
      const id = made.get(name) ?? makers[kind]()
      made.set(name, id)
      return id
    }
    return thing
  }

  /**
   * Checks that exactly the events that were or may have been acknowledged are listed, each once and as it was sent.
   */
  async function expectEvents(): Promise<void> {
    const rows = await queryRows<{ id: string; quantity: string; properties: string }>(
      stage.clickhouse,
      `SELECT concat('event_', lower(hex(e.id))) AS id, toString(e.quantity) AS quantity, e.properties AS properties
       FROM usage_events AS e FINAL WHERE e.namespace_id = {namespaceId:String}`,
      { namespaceId: live.namespaceId },
    )
    const found = new Map<string, { id: string; told: string }[]>()
    for (const { id, quantity, properties } of rows) {
      const {
        slot = '',
        content: of,
        n,
      } = JSON.parse(properties) as { slot?: string; content: number; n: number }
      found.set(slot, [...(found.get(slot) ?? []), { id, told: `${of} ${n} ${quantity}` }])
    }
    const reports = played.filter(({ route }) => route.kind === 'report')
    for (const { name, route, states, named, told } of reports) {
      const count = route.name.endsWith('batch') ? 3 : 1
      const of = (state: KeyState) =>
        Array.from(
          { length: count },
          (_, n) => `${state.slice(-1)} ${n} ${n + 1}.${Number(state.slice(-1)) + 1}`,
        )
      const events = found.get(name) ?? []
      found.delete(name)
      const shown = events.map((event) => event.told).sort()
      const possible = states.flatMap((state) =>
        state === 'free' ? [[]] : state.startsWith('begun') ? [[], of(state)] : [of(state)],
      )
      expect(possible, `${name}:\n${told.join('\n')}\n${JSON.stringify(events)}`).to.deep.include(shown)
      for (const id of named)
        expect(
          events.map((event) => event.id),
          told.join('\n'),
        ).to.include(id)
    }
    expect([...found.keys()]).to.deep.equal([])
  }

  /** Checks that the trail has one entry for each change, and that the 409s named its resource. */
  async function expectTrail(): Promise<void> {
    const rows: TrailEntry[] = []
    for (const { namespaceId } of [live, test])
      rows.push(
        ...(await inNamespace(stage.db.pool, namespaceId, async (db) => {
          const entries = await db.query<TrailEntry>('SELECT action, resource_id, changes FROM audit_trail')
          return entries.rows
        })),
      )
    const found = new Map<string, TrailEntry[]>()
    for (const entry of rows)
      for (const sign of new Set(KEYED_ROUTES.map(({ signOf }) => signOf?.(entry))))
        if (sign !== undefined) found.set(sign, [...(found.get(sign) ?? []), entry])
    for (const slot of played) {
      const { route, states, named, told } = slot
      const { sign, namedBy = (entry: TrailEntry) => entry.resource_id } = route
      if (sign === undefined) continue
      const done: string[] = []
      for (const of of route.hasOneContent === true ? [0] : [0, 1, WRONG_CONTENT])
        for (const entry of found.get(await sign(slot, of)) ?? []) {
          done.push(`done with ${of}`)
          expect([...named, namedBy(entry)], told.join('\n')).to.deep.include(namedBy(entry))
          for (const name of named) expect(name, told.join('\n')).to.equal(namedBy(entry))
        }
      const possible = states.map((state) => (state === 'free' ? [] : [state]))
      expect(possible, `${slot.name}:\n${told.join('\n')}`).to.deep.include(done)
    }
  }

  async function audit(): Promise<{ code: number; output: string }> {
    const { clickhouse, db, eventLog: log, listedUpTo } = stage
    const lines: string[] = []
    const deps = {
      pool: db.pool,
      openUsage: () => Promise.resolve({ clickhouse, log, listedUpTo }),
      openClickHouse: () => Promise.resolve(clickhouse),
      openEventLog: () => Promise.resolve(log),
      purges: openPurges(undefined),
      embedded: undefined,
      installation: {
        eventLog: { kafka: undefined, partitions: log.partitions },
        redis: { url: undefined, timeoutMs: 100, prefix: '' },
        dataFolder: undefined,
        urls: {},
        database: 'tally',
        analystAddress: () => undefined,
        hosts: undefined,
      },
    }
    const code = await runCommand('audit', [], deps, testLog, {
      print: (line) => lines.push(line),
      showProgress: () => undefined,
      signal: new AbortController().signal,
    })
    return { code, output: lines.join('\n') }
  }
})
