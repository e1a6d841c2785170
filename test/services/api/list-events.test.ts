import { expect } from 'chai'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import type { QueryCounts } from '../../support/count-queries.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'
import type { EventBody } from '../../support/usage-world.ts'

interface Page {
  data: EventBody[]
  has_more: boolean
}

const now = Math.floor(Date.now() / 1_000)

describe('the list of events over HTTP', function () {
  this.timeout(120_000)
  let running: RunningApi

  before(async () => {
    // Why in one layout: every-operation, drain and journeys list events through the other.
    running = await startApi('list_events')
  })
  after(() => running.stop())

  const page = ({ api }: StoredWorld, query: string) => api.get<Page>(`/v2/events?${query}`)

  /** Reads all pages, one after the other. */
  async function follow(world: StoredWorld, query: string, limit: number): Promise<EventBody[]> {
    const seen: EventBody[] = []
    for (;;) {
      const after = seen.length === 0 ? '' : `&starting_after=${seen.at(-1)?.id ?? ''}`
      const { body } = await page(world, `limit=${limit}${after}${query}`)
      seen.push(...body.data)
      if (!body.has_more) return seen
      expect(body.data).to.have.length(limit)
    }
  }

  /** Stores reports of several accounts and sources, with repeats, in separate inserts. */
  async function fill(world: StoredWorld): Promise<UsageEvent[]> {
    const events = Array.from({ length: 120 }, (_, n) =>
      world.makeEvent({
        accountId: world.accounts[n % 3] ?? '',
        source: [...world.metrics, 'usd'][n % 4 === 0 ? 0 : (n % 2) + 1] ?? '',
        quantity: String(n),
        key: `k${n}`,
        occurredAt: now - n,
        acceptedAt: (now - 50 + Math.floor(n / 7)) * 1_000_000 + n,
      }),
    )
    const repeats = events.flatMap((event, n) =>
      n % 3 === 0
        ? [
            {
              ...event,
              quantity: '999',
              acceptedAt: event.acceptedAt + 20_000_000,
              version: event.version - 1n,
            },
          ]
        : [],
    )
    await running.store(repeats)
    await running.store(events)
    await running.store(events.slice(30, 60))
    return events
  }

  const inOrder = (events: readonly UsageEvent[]): string[] =>
    events
      .map(({ id, acceptedAt }) => ({ id, second: Math.floor(acceptedAt / 1_000_000) }))
      .sort((a, b) => a.second - b.second || (a.id < b.id ? -1 : 1))
      .map(({ id }) => id)

  it('shows the events of an account, of a metric or of both, each once and in order, on pages of any size', async () => {
    const world = await makeStoredWorld(running, 3, 2)
    const events = await fill(world)
    for (const accountId of [undefined, ...world.accounts])
      for (const source of [undefined, ...world.metrics]) {
        const query = `${accountId === undefined ? '' : `&account_id=${accountId}`}${source === undefined ? '' : `&metric_id=${source}`}`
        const expected = inOrder(
          events.filter(
            (event) =>
              (accountId === undefined || event.accountId === accountId) &&
              (source === undefined || event.source === source),
          ),
        )
        for (const limit of [1, 7, 100]) {
          if (limit === 1 && (accountId === undefined || source === undefined)) continue
          const seen = await follow(world, query, limit)
          expect(
            seen.map(({ id }) => id),
            query,
          ).to.deep.equal(expected)
          expect(seen.map(({ quantity }) => quantity)).to.not.include('999')
        }
      }
  })

  it('goes on after any event of the namespace, and knows no other', async () => {
    const world = await makeStoredWorld(running, 3, 2)
    const theirs = await makeStoredWorld(running)
    const events = await fill(world)
    const [account = ''] = world.accounts
    const cursor = events[61] // of another account
    const ids = inOrder(events)
    const rest = new Set(ids.slice(ids.indexOf(cursor?.id ?? '') + 1))
    const expected = inOrder(events.filter((event) => event.accountId === account && rest.has(event.id)))
    const answer = await page(world, `account_id=${account}&starting_after=${cursor?.id ?? ''}`)
    expect(answer.body.data.map(({ id }) => id)).to.deep.equal(expected)
    expect((await page(theirs, `starting_after=${cursor?.id ?? ''}`)).status).to.equal(400)
    expect((await page(theirs, `account_id=${account}`)).body).to.deep.equal({ data: [], has_more: false })
    for (const query of [
      'account_id=x',
      'metric_id=usd',
      `account_id=${account.toUpperCase()}`,
      'currency=dollars',
      `currency=usd&metric_id=${world.metrics[0] ?? ''}`,
      'sort=id',
      'order=descending',
    ])
      expect((await page(world, query)).status, query).to.equal(400)
  })

  it('has a newest-first order of its own: the other one backwards, also within a second and on small pages', async () => {
    const world = await makeStoredWorld(running, 3, 2)
    const events = await fill(world)
    const expected = inOrder(events).toReversed()
    for (const limit of [3, 7, 100])
      expect((await follow(world, '&order=newest', limit)).map(({ id }) => id)).to.deep.equal(expected)
    for (const [query, isListed] of [
      [
        `&account_id=${world.accounts[1] ?? ''}`,
        (event: UsageEvent) => event.accountId === world.accounts[1],
      ],
      ['&currency=USD', (event: UsageEvent) => event.source === 'usd'],
    ] as const)
      for (const order of ['oldest', 'newest']) {
        const forwards = inOrder(events.filter(isListed))
        const seen = (await follow(world, `${query}&order=${order}`, 5)).map(({ id }) => id)
        expect(seen, query).to.deep.equal(order === 'oldest' ? forwards : forwards.toReversed())
      }
  })

  describe('by occurrence', () => {
    const BY_OCCURRENCE = '&sort=occurred_at'
    const byId = (events: readonly UsageEvent[], order: string): string[] => {
      const sorted = events.map(({ id }) => id).sort()
      return order === 'newest' ? sorted.reverse() : sorted
    }

    it('has the events of every filter, in both orders, on pages of any size', async () => {
      const world = await makeStoredWorld(running, 3, 2)
      const events = await fill(world)
      const coloured = await world.store(
        ...['red', 'green', 'red'].map((color, n) => ({
          source: 'usd',
          key: `c${n}`,
          properties: { color },
          occurredAt: now - 1_000_000 * n - 5,
        })),
      )
      const all = [...events, ...coloured]
      const cases: [string, (event: UsageEvent) => boolean][] = [
        ['', () => true],
        [`&account_id=${world.accounts[2] ?? ''}`, (event) => event.accountId === world.accounts[2]],
        ['&currency=Usd', (event) => event.source === 'usd'],
        [
          `&metric_id=${world.metrics[1] ?? ''}&account_id=${world.account}`,
          (event) => event.source === world.metrics[1] && event.accountId === world.account,
        ],
        ['&property=color&value=red', (event) => event.properties.includes('red')],
        [
          `&start_at=${now - 50}&end_at=${now - 20}`,
          ({ occurredAt }) => occurredAt >= now - 50 && occurredAt < now - 20,
        ],
        [`&start_at=${now - 50}&property=color&value=green`, () => false],
      ]
      for (const [query, isListed] of cases)
        for (const order of ['oldest', 'newest'])
          for (const limit of [4, 100]) {
            const end = query.includes('end_at') ? '' : `&end_at=${now + 1}`
            const seen = await follow(world, `${BY_OCCURRENCE}${query}&order=${order}${end}`, limit)
            expect(
              seen.map(({ id }) => id),
              query,
            ).to.deep.equal(byId(all.filter(isListed), order))
            expect(seen.map(({ quantity }) => quantity)).to.not.include('999')
          }
    })

    it('leaves out what is later than now, unless a later end is given', async () => {
      const world = await makeStoredWorld(running)
      const [past, future] = await world.store(
        { source: 'usd', occurredAt: now - 60, key: 'past' },
        { source: 'usd', occurredAt: now + 250, key: 'future' },
      )
      expect((await follow(world, BY_OCCURRENCE, 10)).map(({ id }) => id)).to.deep.equal([past?.id])
      const later = await follow(world, `${BY_OCCURRENCE}&end_at=${now + 251}`, 10)
      expect(later.map(({ id }) => id)).to.deep.equal([past?.id, future?.id])
    })

    it('begins after any id, of an event or not, and shows nothing of another company', async () => {
      const [world, theirs] = [await makeStoredWorld(running), await makeStoredWorld(running)]
      const events = await world.store(
        ...[5, 4, 3].map((ago) => ({ source: 'usd', occurredAt: now - ago, key: `${ago}` })),
      )
      const ids = byId(events, 'oldest')
      const between = `event_${(now - 4).toString(16)}${'0'.repeat(24)}`
      const after = async (id: string, order: string) =>
        (await page(world, `sort=occurred_at&order=${order}&starting_after=${id}`)).body.data.map(
          ({ id: one }) => one,
        )
      expect(await after(between, 'oldest')).to.deep.equal(ids.slice(1))
      expect(await after(between, 'newest')).to.deep.equal(ids.slice(0, 1))
      expect((await page(theirs, `sort=occurred_at&starting_after=${between}`)).body).to.deep.equal({
        data: [],
        has_more: false,
      })
    })

    it('refuses what does not go together', async () => {
      const world = await makeStoredWorld(running)
      for (const query of [
        ...['start_at=1', 'end_at=1', 'property=a&value=b', 'sort=accepted_at&end_at=1'],
        ...[
          'sort=occurred_at&property=a',
          'sort=occurred_at&value=a',
          'sort=occurred_at&property=a b&value=c',
        ],
        `sort=occurred_at&currency=usd&metric_id=${world.metrics[0] ?? ''}`,
        'sort=occurred_at&starting_after=x',
      ])
        expect((await page(world, query)).status, query).to.equal(400)
      for (const query of ['start_at=5&end_at=5', 'start_at=6&end_at=5', `start_at=${now + 1_000}`])
        expect((await page(world, `sort=occurred_at&${query}`)).status, query).to.equal(422)
    })
  })

  it('ends before the second of the lowest acceptance that is still to be loaded, with a filter too', async function () {
    const { inside } = running
    if (inside === undefined) return this.skip()
    const world = await makeStoredWorld(running, 3, 2)
    const events = await fill(world)
    inside.listedUpTo.second = now - 45
    try {
      for (const accountId of world.accounts) {
        const expected = events.filter(
          (event) => event.accountId === accountId && event.acceptedAt < (now - 45) * 1_000_000,
        )
        const seen = await follow(world, `&account_id=${accountId}`, 4)
        expect(seen.map(({ id }) => id)).to.deep.equal(inOrder(expected))
        expect(seen.length).to.be.greaterThan(5)
      }
    } finally {
      inside.listedUpTo.second = 2 ** 32 - 1
    }
  })

  it('reads a few granules for a page, however long the list is', async function () {
    const { inside } = running
    if (inside === undefined) return this.skip()
    const world = await makeStoredWorld(running, 3, 2)
    const { namespaceId, accounts, metrics } = world
    // 400,000 events of 5,000 accounts; one account has three of them, another one in a thousand, another a twentieth.
    await running.clickhouse.command({
      query: `INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties,
          property_pairs, accepted_at, version)
        SELECT {namespaceId:String},
          multiIf(number % 150000 = 77, {few:String}, number % 20 = 0, {many:String}, number % 1000 = 33, {some:String},
            concat('account_', leftPad(lower(hex(cityHash64(number) % 5000)), 32, '0'))),
          if(number % 3 = 0, 'usd', if(number % 1000 = 1, {rare:String}, {frequent:String})),
          toDateTime(1767225600 + intDiv(number, 20), 'UTC') AS occurred,
          concat('event_', lower(hex(toUInt32(occurred))), leftPad(lower(hex(sipHash64(number))), 24, '0')),
          1, '{}', [], toDateTime64(occurred, 6, 'UTC'), number
        FROM numbers(400000)`,
      query_params: {
        ...{ namespaceId, few: accounts[0], many: accounts[1], some: accounts[2] },
        ...{ rare: metrics[0], frequent: metrics[1] },
      },
    })
    const found = await running.clickhouse.query({
      query: `SELECT concat('event_', lower(hex(id))) AS id FROM usage_events
        WHERE namespace_id = {namespaceId:String} AND accepted_at = '2026-01-01 02:46:40' LIMIT 1`,
      query_params: { namespaceId },
      format: 'JSONEachRow',
    })
    const [{ id }] = (await found.json()) as [{ id: string }] // in the middle of the list
    const account = (place: number) => `account_id=${accounts[place] ?? ''}`
    const asks: [string, number, number][] = [
      ['', 100, 60_000],
      [`starting_after=${id}`, 100, 60_000],
      [account(0), 3, 60_000],
      [`${account(0)}&starting_after=${id}`, 1, 60_000],
      [account(1), 100, 60_000],
      [`${account(2)}&limit=5`, 5, 60_000],
      [`metric_id=${metrics[1] ?? ''}`, 100, 60_000],
      [`account_id=account_${'f'.repeat(32)}`, 0, 0],
      [`metric_id=metric_${'f'.repeat(32)}`, 0, 0],
    ]
    for (const [query, count, rowsMax] of asks) {
      inside.counts.clear()
      const { body } = await page(world, query)
      expect(body.data, query).to.have.length(count)
      expect(await rowsReadAgain(inside.counts, /FROM usage_events_by_acceptance/), query).to.be.at.most(
        rowsMax,
      )
    }
  })

  /**
   * Runs the queries of the last request again without ClickHouse's caches, and returns the number of rows they read.
   */
  async function rowsReadAgain(counts: QueryCounts, of: RegExp): Promise<number> {
    let rows = 0
    for (const { query, params } of counts.clickhouse.filter((sent) => of.test(sent.query))) {
      const result = await running.clickhouse.query({
        query,
        query_params: params,
        format: 'JSON',
        clickhouse_settings: { use_query_condition_cache: 0 },
      })
      rows += (await result.json<object>()).statistics?.rows_read ?? Infinity
    }
    return rows
  }
})
