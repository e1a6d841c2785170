import { expect } from 'chai'
import { listOperations, type Operation, readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import type { ApiClient } from '../support/api-client.ts'
import type { TallyUnderTest } from '../support/tally-under-test.ts'
import { makeWorld } from '../support/usage-world.ts'
import { shareRequestWorld, TRIES, type World } from './requests.ts'

/** The parts of a JSON Schema that this test reads. */
interface Node {
  $ref?: string
  type?: string | string[]
  const?: unknown
  allOf?: Node[]
  anyOf?: Node[]
  oneOf?: Node[]
  properties?: Record<string, Node>
  required?: string[]
  items?: Node
  'x-null-is-a-value'?: true
}

/** An optional field in openapi.yaml. */
interface OptionalField {
  path: string
  allowsNull: boolean
  isValue: boolean
}

describe('fields that are null in the body of a POST', function () {
  this.timeout(60_000)
  const document = readOpenApiDocument()
  const posts = listOperations(document).filter(
    // A correction is excluded, because in a change null could mean that a field is cleared.
    ({ method, operationId }) => method === 'post' && operationId !== 'correctEvents',
  )
  let tally: TallyUnderTest
  let api: ApiClient
  let world: World

  before(async () => {
    ;({ tally, api, world } = await shareRequestWorld())
  })
  after(() => tally.end())

  const resolve = (node: Node): Node =>
    node.$ref === undefined
      ? node
      : resolve(
          node.$ref
            .slice(2)
            .split('/')
            .reduce<unknown>((outer, name) => (outer as Record<string, unknown>)[name], document) as Node,
        )
  const partsOf = (node: Node): Node[] => {
    const { allOf = [], anyOf = [], oneOf = [], ...own } = resolve(node)
    return [own, ...[...allOf, ...anyOf, ...oneOf].flatMap(partsOf)]
  }
  const bodyOf = ({ path, method }: Operation): Node | undefined =>
    document.paths[path]?.[method]?.requestBody?.content['application/json']?.schema

  const optionalFields = (node: Node, at = ''): OptionalField[] =>
    partsOf(node).flatMap(({ properties = {}, required = [], items }) => [
      ...Object.entries(properties).flatMap(([name, field]) => [
        ...(required.includes(name) ? [] : [describeField(field, `${at}.${name}`)]),
        ...optionalFields(field, `${at}.${name}`),
      ]),
      ...(items === undefined ? [] : optionalFields(items, `${at}[]`)),
    ])
  const describeField = (field: Node, path: string): OptionalField => ({
    path,
    allowsNull: partsOf(field).some(({ type = [] }) => [type].flat().includes('null')),
    isValue: resolve(field)['x-null-is-a-value'] === true,
  })

  /** Adds null to a body for each absent optional field. */
  const withNulls = (node: Node, body: unknown): unknown => {
    const parts = partsOf(node)
    if (Array.isArray(body)) {
      const items = parts.find((part) => part.items !== undefined)?.items ?? {}
      return body.map((item) => withNulls(items, item))
    }
    if (typeof body !== 'object' || body === null) return body
    const given = body as Record<string, unknown>
    // Of several kinds of a price, only the given one.
    const kinds = parts.filter(({ properties: { model } = {} }) => model !== undefined)
    const own = kinds.filter(({ properties: { model = {} } = {} }) =>
      model.const === undefined ? false : model.const === given['model'],
    )
    const result: Record<string, unknown> = {}
    for (const { properties = {}, required = [] } of own.length > 0 ? own : parts)
      for (const [name, field] of Object.entries(properties)) {
        if (name in given) result[name] = withNulls(field, given[name])
        else if (!required.includes(name) && resolve(field)['x-null-is-a-value'] !== true) result[name] = null
      }
    return result
  }

  it('are said to be allowed wherever a field may be left out, and to mean something in two', () => {
    const fields = posts.flatMap((operation) => {
      const body = bodyOf(operation)
      return body === undefined ? [] : optionalFields(body).map((field) => ({ ...field, operation }))
    })
    expect(fields).to.have.length.above(100)
    expect(fields.filter(({ allowsNull }) => !allowsNull).map(({ path }) => path)).to.deep.equal([])
    expect([...new Set(fields.filter(({ isValue }) => isValue).map(({ path }) => path))]).to.deep.equal([
      '.lines[].price_overrides[].value',
      '.add[].price_overrides[].value',
      '.changes.add[].price_overrides[].value',
      '.expires_at',
    ])
  })

  for (const operation of posts.filter((post) => bodyOf(post) !== undefined)) {
    const { operationId } = operation
    if (TRIES[operationId]?.isForTests !== true)
      it(`are as if they were left out: ${operationId}`, async () => {
        const { target = '', body } = (await TRIES[operationId]?.good(world)) ?? {}
        const nulls = withNulls(bodyOf(operation) ?? {}, body)
        const answer = await api.post(target, nulls)
        expect(answer.status, `${JSON.stringify(nulls)}: ${answer.text}`).to.be.oneOf([200, 202])
      })
  }

  it('leave defaults as they are, and nothing in the trail', async () => {
    const [metric, plain] = [
      await api.create<Record<string, unknown>>('/v2/metrics', { name: 'm', description: null }),
      await api.create<Record<string, unknown>>('/v2/metrics', { name: 'm' }),
    ]
    expect({ ...metric, id: '', created_at: 0, updated_at: 0 }).to.deep.equal({
      ...plain,
      id: '',
      created_at: 0,
      updated_at: 0,
    })
    const refill = {
      account_id: world.account,
      metric_id: metric['id'],
      minimum_balance: '1',
      target_balance: '2',
    }
    const made = await api.create<object>('/v2/refill-configurations', { ...refill, is_active: null })
    expect(made).to.have.property('is_active', true)
    const price = { product_id: world.product, currency: 'usd', model: 'graduated' }
    const tiers = [{ up_to: '10', unit_amount: null, flat_amount: '5' }, { up_to: null }]
    const priced = await api.create<object>('/v2/prices', {
      ...price,
      tiers,
      per: null,
      minimum_amount: null,
    })
    expect(priced).to.deep.include({
      per: '1',
      tiers: [
        { up_to: '10', unit_amount: '0', flat_amount: '5' },
        { up_to: null, unit_amount: '0', flat_amount: '0' },
      ],
    })
    expect(priced).not.to.have.property('minimum_amount')
    const trail = await api.get<{ data: { resource_id: string; changes: object }[] }>('/v2/audit-trail')
    const entry = trail.body.data.find(({ resource_id: id }) => id === metric['id'])
    expect(entry?.changes).to.deep.equal({ name: 'm', description: '', measurement_units: '' })
  })

  it('are still refused where a field is required, and kept where null is a value', async () => {
    for (const [target, body, text] of [
      ['/v2/accounts', { name: null }, 'name: must be text such as "Acme production"'],
      [
        '/v2/grants',
        { account_id: world.account, currency: 'usd', amount: null, effective_at: 1 },
        /^amount: must be text/,
      ],
      [
        '/v2/events',
        { account_id: world.account, currency: 'usd', quantity: null },
        /^quantity: must be text/,
      ],
      [
        '/v2/events/corrections',
        { corrections: [{ event_id: world.eventId, quantity: null }] },
        /quantity: must be text/,
      ],
      ['/v2/accounts', { name: 'a', description: 5 }, 'description: must be text'],
      ['/v2/accounts', null, /body|request/],
    ] as const) {
      const answer = await api.post(target, body, body === null ? { raw: 'null' } : {})
      expect(answer.status, answer.text).to.equal(400)
      expect(answer.text).to.match(typeof text === 'string' ? new RegExp(`^${text}$`) : text)
    }
  })

  it('are as if they were left out of reports, one and many, ordinary or not', async () => {
    const used = await makeWorld(api)
    const event = {
      account_id: used.account,
      metric_id: used.tokens,
      currency: null,
      quantity: '1',
      occurred_at: null,
      idempotency_key: null,
      properties: null,
    }
    const headers = [{}, { 'content-type': 'application/json; charset="utf-8"' }] // the other is for Express
    for (const header of headers) {
      const one = await api.post<{ properties: object }>('/v2/events', event, { headers: header })
      expect(one.status, one.text).to.equal(202)
      expect(one.body.properties).to.deep.equal({})
      const many = await api.post('/v2/events/batch', { events: [event, event] }, { headers: header })
      expect(many.status, many.text).to.equal(202)
    }
    await used.counted(6)
    const neither = await api.post('/v2/events', { ...event, metric_id: null })
    expect([neither.status, neither.text]).to.deep.equal([
      422,
      'metric_id, currency: exactly one of them is required',
    ])
    const kept = await api.post<{ properties: object }>('/v2/events', { ...event, properties: { a: null } })
    expect(kept.body.properties).to.deep.equal({ a: null })
  })
})
