import { expect } from 'chai'
import { findIsoCurrency } from '../../../shared/domain/iso-currency.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'
import { makeCorrection } from '../../support/usage-event.ts'

interface Currency {
  currency: string
  name: string | null
  minor_units: number | null
  first_reported_at: number
  last_reported_at: number
}

const now = Math.floor(Date.now() / 1_000)

describe('currencies over HTTP', function () {
  this.timeout(60_000)
  let running: RunningApi

  before(async () => {
    running = await startApi('currencies')
  })
  after(() => running.stop())

  const list = ({ api }: StoredWorld, query = '') =>
    api.get<{ data: Currency[]; has_more: boolean }>(`/v2/currencies${query}`)

  it('are those ever reported, by code, with what ISO 4217 knows and when they were reported', async () => {
    const world = await makeStoredWorld(running)
    expect((await list(world)).body).to.deep.equal({ data: [], has_more: false })
    await world.grant({ currency: 'sek' }) // granted, never reported
    const at = (second: number) => second * 1_000_000 + 999_999
    const source = (code: string, acceptedAt: number, occurredAt = now - 1_000_000) => ({
      source: code,
      occurredAt,
      acceptedAt: at(acceptedAt),
    })
    await world.store(
      source('usd', now - 50),
      source('bhd', now - 40),
      source(world.metrics[0] ?? '', now - 90),
    )
    await world.store(source('usd', now - 70), source('jpy', now - 30), source('xau', now - 30))
    const [voided] = await world.store(source('zzz', now - 20), source('xcg', now - 20))
    if (voided !== undefined) await running.store([makeCorrection(voided, { voided: true })])
    const expected = [
      ['bhd', 'Bahraini Dinar', 3, now - 40, now - 40],
      ['jpy', 'Yen', 0, now - 30, now - 30],
      ['usd', 'US Dollar', 2, now - 70, now - 50],
      ['xau', 'Gold', null, now - 30, now - 30],
      ['xcg', 'Caribbean Guilder', 2, now - 20, now - 20],
      ['zzz', null, null, now - 20, now - 20],
    ]
    expect((await list(world)).body.data.map((row) => Object.values<unknown>({ ...row }))).to.deep.equal(
      expected,
    )
  })

  it('stay the same however often a report is loaded', async () => {
    const world = await makeStoredWorld(running)
    const events = await world.store(
      ...[10, 20, 30].map((age) => ({
        source: 'eur',
        occurredAt: now - 60,
        acceptedAt: (now - age) * 1_000_000,
      })),
    )
    const before = (await list(world)).body
    for (let n = 0; n < 5; n++) await running.store(events)
    await running.clickhouse.command({ query: 'OPTIMIZE TABLE reported_currencies FINAL' })
    await running.store(events.slice(1))
    expect((await list(world)).body).to.deep.equal(before)
    expect(before.data).to.have.length(1)
    expect(before.data[0]).to.include({ first_reported_at: now - 30, last_reported_at: now - 10 })
  })

  it('come in pages, and are each namespace’s own', async () => {
    const world = await makeStoredWorld(running)
    const codes = ['aud', 'chf', 'eur', 'gbp', 'usd']
    await world.store(...codes.map((source) => ({ source, occurredAt: now })))
    const codesOf = (data: readonly Currency[]) => data.map(({ currency }) => currency)
    const first = (await list(world, '?limit=2')).body
    expect([codesOf(first.data), first.has_more]).to.deep.equal([['aud', 'chf'], true])
    const last = (await list(world, '?limit=3&starting_after=chf')).body
    expect([codesOf(last.data), last.has_more]).to.deep.equal([['eur', 'gbp', 'usd'], false])
    expect((await list(world, '?starting_after=usd')).body).to.deep.equal({ data: [], has_more: false })
    for (const query of ['?starting_after=nok', '?starting_after=USD', '?limit=0', '?currency=usd'])
      expect((await list(world, query)).status, query).to.equal(400)
    expect((await list(await makeStoredWorld(running))).body.data).to.deep.equal([])
  })

  it('are read in one query of a few rows, however many events there are', async function () {
    const { inside } = running
    if (inside === undefined) return this.skip()
    const world = await makeStoredWorld(running)
    await running.clickhouse.command({
      query: `INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties,
          property_pairs, accepted_at, version)
        SELECT {namespaceId:String}, {account:String}, ['usd', 'eur', 'chf'][1 + number % 3],
          toDateTime(1767225600 + number, 'UTC') AS occurred,
          concat('event_', lower(hex(toUInt32(occurred))), leftPad(lower(hex(number)), 24, '0')), 1, '{}', [],
          toDateTime64(occurred, 6, 'UTC'), number
        FROM numbers(200000)`,
      query_params: { namespaceId: world.namespaceId, account: world.account },
    })
    inside.counts.clear()
    expect((await list(world)).body.data).to.have.length(3)
    expect(inside.counts.postgres).to.have.length(0)
    const [sent, ...others] = inside.counts.clickhouse
    expect(others).to.have.length(0)
    const again = await running.clickhouse.query({
      query: sent?.query ?? '',
      query_params: sent?.params ?? {},
      format: 'JSON',
    })
    expect((await again.json<object>()).statistics?.rows_read).to.be.lessThan(1_000)
  })
})

describe('ISO 4217', () => {
  it('is asked by lowercase codes', () => {
    expect(findIsoCurrency('eur')).to.deep.equal({ name: 'Euro', minorUnits: 2 })
    expect(findIsoCurrency('clf')).to.include({ minorUnits: 4 })
    expect(findIsoCurrency('xof')).to.include({ minorUnits: 0 })
    expect(findIsoCurrency('xxx')).to.include({ minorUnits: null })
    expect(findIsoCurrency('abc')).to.equal(undefined)
  })
})
