import { hash } from 'node:crypto'
import { expect } from 'chai'
import type { Properties } from '../../../shared/domain/properties.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { linesOf } from '../../support/period-usage.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'
import { makeCorrection } from '../../support/usage-event.ts'

interface Answer {
  property: string
  value: string
  aggregation: string
  data: Parameters<typeof linesOf>[0]
}

const now = Math.floor(Date.now() / 1_000)

describe('usage by property over HTTP', function () {
  this.timeout(60_000)
  let running: RunningApi

  before(async () => {
    // Why in one layout: usage-model reads with the same statements in the other.
    running = await startApi('event_aggregate')
  })
  after(() => running.stop())

  const ask = async ({ api }: StoredWorld, property: string, value: string, more = '') => {
    const query = `property=${property}&value=${encodeURIComponent(value)}${more}`
    const { status, text, body } = await api.get<Answer>(`/v2/events/aggregate?${query}`)
    expect(status, `${query}: ${text}`).to.equal(200)
    expect(body).to.include({ property, value })
    return linesOf(body.data)
  }

  it('finds top-level texts, and numbers and booleans as JSON writes them, and nothing else', async () => {
    const world = await makeStoredWorld(running)
    const long = '𝛼'.repeat(500)
    const texts = [
      '1',
      '1.0',
      '1e21',
      'true',
      'null',
      ' a ',
      'a=b',
      '=',
      "it's",
      '"quoted"',
      'back\\slash',
      '\\n',
    ]
    const more = [
      'line\nbreak',
      'tab\there',
      'é',
      'e\u0301',
      '漢字',
      '🙂',
      '%',
      '_',
      '{value:String}',
      '[]',
      long,
    ]
    const values: unknown[] = [...texts, ...more, 1, 1e21, -0.5, true, false]
    values.push(null, ['1'], { a: '1' }, '', `${long}𝛼`)
    await world.store(
      ...values.map((v, index) => ({
        source: 'usd',
        quantity: String(2 ** index),
        occurredAt: now - 10,
        properties: { v },
      })),
    )
    const textOf = (value: unknown) =>
      typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : value
    for (const asked of [
      ...texts,
      ...more,
      '1e+21',
      '-0.5',
      'false',
      '["1"]',
      '{"a":"1"}',
      'A',
      '1.',
      '.5',
      'x',
    ]) {
      const sum = values.reduce((total: number, v, i) => (textOf(v) === asked ? total + 2 ** i : total), 0)
      expect(await ask(world, 'v', asked), asked).to.deep.equal(sum === 0 ? [] : [['usd', String(sum)]])
    }
  })

  it('tells names from values: a name ends at the first equals sign', async () => {
    const world = await makeStoredWorld(running)
    await world.store(
      { source: 'usd', quantity: '1', occurredAt: now - 10, properties: { a: 'b=c' } },
      { source: 'usd', quantity: '2', occurredAt: now - 10, properties: { 'a=b': 'c' } },
      { source: 'usd', quantity: '4', occurredAt: now - 10, properties: { a: { b: 'c' } } },
      { source: 'usd', quantity: '8', occurredAt: now - 10, properties: { A: 'b=c', aa: 'b=c' } },
      {
        source: 'usd',
        quantity: '16',
        occurredAt: now - 10,
        properties: JSON.parse('{"__proto__":"x"}') as Properties,
      },
      { source: 'usd', quantity: '32', occurredAt: now - 10, properties: { ['n'.repeat(100)]: 'x' } },
    )
    expect(await ask(world, 'a', 'b=c')).to.deep.equal([['usd', '1']])
    expect(await ask(world, 'a', 'b')).to.deep.equal([])
    expect(await ask(world, 'A', 'b=c')).to.deep.equal([['usd', '8']])
    expect(await ask(world, '__proto__', 'x')).to.deep.equal([['usd', '16']])
    expect(await ask(world, 'n'.repeat(100), 'x')).to.deep.equal([['usd', '32']])
  })

  it('counts events as they are after corrections, whichever row arrived first', async () => {
    const world = await makeStoredWorld(running)
    const make = (key: string) =>
      world.makeEvent({ source: 'usd', key, quantity: '1', occurredAt: now - 10, properties: { model: 'a' } })
    const change = (event: UsageEvent, model: string) =>
      makeCorrection(event, { properties: `{"model":"${model}"}`, propertyPairs: [`model=${model}`] })
    const [kept, moved, early, voided] = [make('kept'), make('moved'), make('early'), make('voided')]
    await running.store([change(early, 'b')]) // before its report
    await running.store([kept, moved, voided])
    await running.store([early])
    await running.store([change(moved, 'b'), makeCorrection(voided, { voided: true })])
    expect(await ask(world, 'model', 'a')).to.deep.equal([['usd', '1']])
    expect(await ask(world, 'model', 'b', '&aggregation=count')).to.deep.equal([['usd', '2']])
  })

  it('counts no event that was corrected long before or after, in parts that the index passes over', async () => {
    const world = await makeStoredWorld(running)
    await running.clickhouse.command({ query: 'SYSTEM STOP MERGES usage_events' })
    const reports = Array.from({ length: 40_000 }, (_, n) =>
      world.makeEvent({
        source: 'usd',
        key: `k${n}`,
        quantity: '1',
        occurredAt: now - 50_000 + n,
        properties: { model: n % 400 === 0 ? 'a' : 'z' },
      }),
    )
    const corrections = reports
      .filter((_, n) => n % 800 === 0)
      .map((event) => makeCorrection(event, { properties: '{"model":"b"}', propertyPairs: ['model=b'] }))
    await running.store(corrections.slice(0, 20))
    await running.store(reports)
    await running.store(corrections.slice(20))
    expect(await ask(world, 'model', 'a')).to.deep.equal([['usd', '50']])
    expect(await ask(world, 'model', 'b')).to.deep.equal([['usd', '50']])
    expect(await ask(world, 'model', 'z')).to.deep.equal([['usd', '39900']])
    await running.clickhouse.command({ query: 'SYSTEM START MERGES usage_events' })
  })

  it('finds values whose hash ends with zero bytes, however their rows are stored', async () => {
    const world = await makeStoredWorld(running)
    const zeroBytesOf = (value: number) => {
      const token = hash('sha256', `v=${value}`, 'buffer').subarray(0, 12)
      return token.length - Buffer.from(token.toString('latin1').replace(/\0+$/, ''), 'latin1').length
    }
    const values = Array.from({ length: 300_000 }, (_, value) => value).filter(
      (value) => zeroBytesOf(value) > 0,
    )
    const asked = [...values.slice(0, 3), ...values.filter((value) => zeroBytesOf(value) > 1).slice(0, 2)]
    expect(asked).to.have.length(5)
    const store = (quantity: string) =>
      world.store(...asked.map((v) => ({ source: 'usd', quantity, occurredAt: now - 10, properties: { v } })))
    const expectFound = async (quantity: string, how: string) => {
      for (const v of asked) expect(await ask(world, 'v', String(v)), how).to.deep.equal([['usd', quantity]])
    }
    try {
      await running.clickhouse.command({ query: 'SYSTEM STOP MERGES usage_events' })
      await store('1')
      await expectFound('1', 'no row is indexed')
      await running.clickhouse.command({ query: 'SYSTEM START MERGES usage_events' })
      await running.clickhouse.command({ query: 'OPTIMIZE TABLE usage_events FINAL' })
      await expectFound('1', 'all rows are indexed')
      await running.clickhouse.command({ query: 'SYSTEM STOP MERGES usage_events' })
      await store('2')
      await expectFound('3', 'some rows are indexed')
    } finally {
      await running.clickhouse.command({ query: 'SYSTEM START MERGES usage_events' })
    }
  })

  it('takes dots and dashes for a part of the name of a top-level property, and for no path', async () => {
    const world = await makeStoredWorld(running)
    const [m0 = ''] = world.metrics
    await world.store(
      { source: m0, quantity: '1', occurredAt: now - 100, properties: { 'gen_ai.request.model': 'large' } },
      {
        source: m0,
        quantity: '2',
        occurredAt: now - 100,
        properties: { gen_ai: { request: { model: 'large' } } },
      },
      {
        source: m0,
        quantity: '4',
        occurredAt: now - 100,
        properties: { 'gen_ai.request': { model: 'large' } },
      },
      { source: m0, quantity: '8', occurredAt: now - 100, properties: { '-.': 7 } },
    )
    expect(await ask(world, 'gen_ai.request.model', 'large')).to.deep.equal([[m0, '1']])
    expect(await ask(world, '-.', '7')).to.deep.equal([[m0, '8']])
    expect(await ask(world, 'a'.repeat(98) + '.-', 'x')).to.deep.equal([])
  })

  it('adds up all accounts, by metric and currency in their order, within the range', async () => {
    const world = await makeStoredWorld(running, 2, 2)
    const [, other = ''] = world.accounts
    const [m0 = '', m1 = ''] = world.metrics
    const properties = { region: 'eu' }
    await world.store(
      { source: 'usd', quantity: '1', occurredAt: now - 100, properties },
      { source: m1, quantity: '2', occurredAt: now - 100, properties },
      { source: m0, quantity: '4', occurredAt: now - 100, properties },
      { source: m0, quantity: '8', occurredAt: now - 99, properties, accountId: other },
      { source: 'chf', quantity: '16', occurredAt: now - 100, properties },
      { source: m0, quantity: '32', occurredAt: now - 100, properties: { region: 'us' } },
      { source: m0, quantity: '64', occurredAt: now + 3_000, properties },
      { source: m0, quantity: '128', occurredAt: now - 5 * 366 * 86_400 - 86_400, properties },
    )
    const all = [
      [m0, '12'],
      [m1, '2'],
      ['chf', '16'],
      ['usd', '1'],
    ]
    expect(await ask(world, 'region', 'eu')).to.deep.equal(all)
    expect(await ask(world, 'region', 'eu', '&currency=CHF')).to.deep.equal([['chf', '16']])
    expect(await ask(world, 'region', 'eu', '&aggregation=latest')).to.deep.include([m0, '8'])
    const range = `&start_at=${now - 99}&end_at=${now + 3_001}`
    expect(await ask(world, 'region', 'eu', range)).to.deep.equal([[m0, '72']])
    expect(await ask(world, 'region', 'eu', `&start_at=${now - 100}&end_at=${now - 99}`)).to.deep.include([
      m0,
      '4',
    ])
    expect(await ask(world, 'region', 'eu', '&start_at=0')).to.deep.include([m0, '140'])
    expect(await ask(await makeStoredWorld(running), 'region', 'eu')).to.deep.equal([])
  })

  it('refuses names, values and ranges that cannot be', async () => {
    const { api } = await makeStoredWorld(running)
    const cases: [string, number, RegExp][] = [
      ['value=a', 400, /property/],
      ['property=a', 400, /value/],
      ['property=a&value=', 400, /value/],
      [
        'property=a%20b&value=x',
        400,
        /property: "a b" is not the name of a property, of letters, digits, dots/,
      ],
      ['property=a%2Fb&value=x', 400, /property/],
      ['property=a%3Db&value=x', 400, /property/],
      ['property=&value=x', 400, /property/],
      ['property=é&value=x', 400, /property/],
      [`property=${'a'.repeat(101)}&value=x`, 400, /property/],
      [`property=a&value=${'x'.repeat(501)}`, 400, /value/],
      ['property=a&value=%00', 400, /value: holds a NUL/],
      ['property=a&value=x&aggregation=first', 400, /aggregation/],
      ['property=a&value=x&start_at=5&end_at=5', 422, /^end_at: must be after start_at/],
      ['property=a&value=x&end_at=5', 422, /^end_at/],
      ['property=a&value=x&start_at=4294967295', 422, /^end_at/],
      ["property=a&value='+OR+1=1;--", 200, /"value":"' OR 1=1;--"/],
    ]
    for (const [query, status, text] of cases) {
      const answer = await api.get(`/v2/events/aggregate?${query}`)
      expect(answer.status, `${query}: ${answer.text}`).to.equal(status)
      expect(answer.text).to.match(text)
    }
  })
})
