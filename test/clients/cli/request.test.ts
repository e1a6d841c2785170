import { Readable } from 'node:stream'
import { expect } from 'chai'
import type { CliOperation } from '../../../clients/cli/src/operation.ts'
import { OPERATIONS } from '../../../clients/cli/src/operations.gen.ts'
import { prepareRequest, type TypedRequest } from '../../../clients/cli/src/request.ts'
import { failureOf } from '../../support/failure-of.ts'

const NOW = 1_790_000_000

const operationOf = (id: string): CliOperation => {
  const found = OPERATIONS.find((operation) => operation.id === id)
  if (found === undefined) throw new Error(`no operation ${id}`)
  return found
}

const prepare = (id: string, typed: Partial<TypedRequest>, input = '') =>
  prepareRequest(
    operationOf(id),
    { path: [], fields: new Map(), unset: [], ...typed },
    { env: {}, input: Readable.from([Buffer.from(input)]), now: () => NOW },
  )

const fields = (given: Record<string, string>) => new Map(Object.entries(given))
const textOf = async (id: string, typed: Partial<TypedRequest>, input?: string) =>
  (await prepare(id, typed, input)).body?.toString()

describe('requests of the command line', () => {
  const event = { account_id: 'a', metric_id: 'm', quantity: '1' }

  it('have the digits that were typed', async () => {
    const properties = '{"n":12345678901234567890.10,"o":1e400}'
    const quantity = '12345678901234567890.123456789012345678'
    const typed = { occurred_at: '1700000000', idempotency_key: 'k', properties, quantity }
    expect(await textOf('reportEvent', { fields: fields({ ...event, ...typed }) })).to.equal(
      `{"account_id":"a","metric_id":"m","quantity":"${quantity}","occurred_at":1700000000,"idempotency_key":"k","properties":${properties}}`,
    )
    const lines = '[{"price_id":"p","quantity":1.0000000000000000000000001}]'
    const given = { account_id: 'a', currency: 'usd', cadence: 'month', lines }
    expect(await textOf('createContract', { fields: fields(given) })).to.include(lines)
  })

  it('send a file as it is', async () => {
    const text = '{ "name": "Ä", "x": 1.10 }\n'
    expect(await textOf('createAccount', { body: '-' }, text)).to.equal(text)
  })

  it('take times as text and as seconds', async () => {
    const times: Record<string, string> = {
      '0': '0',
      '1700158623': '1700158623',
      '253402300799': '253402300799',
      '2026-11-28': '1795824000',
      '2026-11-28T20:30:00Z': '1795897800',
      '2026-11-28T21:30:00+01:00': '1795897800',
    }
    for (const [text, second] of Object.entries(times)) {
      const { query } = await prepare('listInvoicePreviews', { fields: fields({ at: text }) })
      expect(query, text).to.deep.equal({ at: second })
    }
  })

  it('have lists, booleans and null as JSON', async () => {
    const key = { name: 'a', permissions: 'read:all, write:all' }
    expect(await textOf('createApiKey', { fields: fields(key) })).to.equal(
      '{"name":"a","permissions":["read:all","write:all"]}',
    )
    const path = ['account_1', 'metric_1']
    expect(
      await textOf('updateRefillConfiguration', { path, fields: fields({ is_active: 'false' }) }),
    ).to.equal('{"is_active":false}')
    expect(await textOf('updateAccount', { path: ['a'], unset: ['external_id'] })).to.equal(
      '{"external_id":null}',
    )
    const { query } = await prepare('listBalances', { fields: fields({ account_ids: 'a,b' }) })
    expect(query).to.deep.equal({ account_ids: 'a,b' })
  })

  it('give an event the time and the key without which a repeat would count twice', async () => {
    const typed = { fields: fields(event) }
    const text = await textOf('reportEvent', typed)
    expect(JSON.parse(text ?? '')).to.deep.include({ ...event, occurred_at: NOW })
    expect(text).to.match(/"idempotency_key":"[0-9a-f-]{36}"}$/)
    expect(await textOf('reportEvent', typed)).not.to.equal(text)
  })

  it('change nothing else of an event in a file', async () => {
    const file = '{"quantity":"1", "properties":{"n":1.10}, "idempotency_key":null}\n'
    expect(await textOf('reportEvent', { body: '-' }, file)).to.match(
      /^\{"quantity":"1", "properties":\{"n":1\.10\}, "idempotency_key":null,"occurred_at":1790000000,"idempotency_key":"[^"]+"\}$/,
    )
    const whole = '{"occurred_at":1, "idempotency_key":"k"}'
    const request = await prepare('reportEvent', { body: '-' }, whole)
    expect([request.body?.toString(), request.idempotencyKey]).to.deep.equal([whole, undefined])
  })

  it('identify the events of a batch that have no key by a key of the request', async () => {
    const batch = '{"events":[{"occurred_at":1,"idempotency_key":"k"},{"occurred_at":1}]}'
    const { body, idempotencyKey } = await prepare('reportEvents', { body: '-' }, batch)
    expect(body?.toString()).to.equal(batch)
    expect(idempotencyKey).to.match(/^tally-[0-9a-f-]{36}$/)
    const own = await prepare('reportEvents', { body: '-', idempotencyKey: 'own' }, batch)
    expect(own.idempotencyKey).to.equal('own')
    const whole = '{"events":[{"occurred_at":1,"idempotency_key":"k"}]}'
    expect((await prepare('reportEvents', { body: '-' }, whole)).idempotencyKey).to.equal(undefined)
  })

  it('are refused with a file that is not there or is no JSON', async () => {
    expect(await failureOf(prepare('createAccount', { body: '/nowhere/a.json' }))).to.match(/cannot read/)
    expect(await failureOf(prepare('createAccount', { body: '-' }, 'name'))).to.match(/is not JSON/)
    const given = { account_id: 'a', currency: 'usd', cadence: 'month', lines: '@/nowhere/lines.json' }
    expect(await failureOf(prepare('createContract', { fields: fields(given) }))).to.match(/cannot read/)
  })
})
