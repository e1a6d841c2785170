import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { listOperations, type Operation, readOpenApiDocument } from '../../../shared/http/openapi-document.ts'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

interface World {
  account: string
  customer: string
  metric: string
  grant: string
  product: string
  price: string
  rateCard: string
  contract: string
  contractLine: string
  externalId: string
  apiKey: string
}

/** The query or body of requests, by operation. Every other operation is tried without. */
const NEEDS: Record<string, { query?: (theirs: World) => string; body?: object }> = {
  getAccountBalance: { query: () => 'currency=usd' },
  getAccountDailyBalance: { query: () => 'currency=usd&start_at=0&end_at=86400' },
  getAccountMonthlyUsage: { query: () => '' },
  updateCustomer: { body: { name: 'seized' } },
  updateAccount: { body: { name: 'seized', service_customer_id: null } },
  updateMetric: { body: { name: 'seized' } },
  updateProduct: { body: { name: 'seized' } },
  updatePrice: { body: { description: 'seized' } },
  updateRateCard: { body: { name: 'seized' } },
  changeRateCard: { body: { add: [{ price_id: `price_${'0'.repeat(32)}` }] } },
  simulateRateCard: { body: { start_at: 1_700_000_000, end_at: 1_700_086_400 } },
  updateRefillConfiguration: { body: { is_active: false } },
  updateContract: { body: { name: 'seized' } },
  cancelContract: { body: { mode: 'immediate' } },
  changeContract: { body: { add: [{ minimum_amount: '9' }] } },
  rotateApiKey: { body: { overlap_seconds: 0 } },
}

const CONTRACT = { currency: 'usd', cadence: 'month' }
const PRICE = { currency: 'usd', model: 'flat', amount: '1' }

describe('what belongs to another company', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let mine: ApiClient
  let theirs: ApiClient
  let ours: World
  let other: World

  before(async () => {
    tally = await shareTallyUnderTest()
    mine = new ApiClient(tally.url, tally.key)
    theirs = new ApiClient(tally.url, tally.testKey)
    ours = await makeWorld(mine)
    other = await makeWorld(theirs)
  })
  after(() => tally.end())

  /**
   * Reads everything of a world, except the times of last use of keys, because these are stored some time after the
   * use.
   */
  const read = async (api: ApiClient, world: World) => {
    const { account, customer, metric, grant, product, price, rateCard, contract, externalId } = world
    const paths = [
      `/v2/accounts/${account}`,
      `/v2/accounts/external-id/${externalId}`,
      `/v2/metrics/external-id/${externalId}`,
      `/v2/customers/${customer}`,
      `/v2/metrics/${metric}`,
      `/v2/grants/${grant}`,
      `/v2/products/${product}`,
      `/v2/prices/${price}`,
      `/v2/rate-cards/${rateCard}`,
      `/v2/contracts/${contract}`,
      `/v2/contracts/${contract}/lines`,
      `/v2/refill-configurations/${account}/${metric}`,
      '/v2/accounts?sort=customer_name',
      '/v2/api-keys',
    ]
    const texts = await Promise.all(paths.map(async (path) => (await api.get(path)).text))
    return texts.map((text) => text.replaceAll(/"last_used_at":(null|\d+)/g, '"last_used_at":0'))
  }

  it('is not found by any operation that names it in its path, and stays as it is', async () => {
    const before = await read(theirs, other)
    const operations = listOperations(readOpenApiDocument()).filter(
      ({ path }) => path.includes('{') && !path.includes('{event_id}'),
    )
    expect(operations.length).to.be.greaterThan(15)
    for (const operation of operations)
      for (const target of targetsOf(operation, ours, other)) {
        const answer = await mine.request(
          operation.method.toUpperCase(),
          target,
          NEEDS[operation.operationId]?.body,
          {},
        )
        expect([answer.status, answer.text], `${operation.operationId} ${target}`).to.deep.equal([
          404,
          'not found',
        ])
      }
    expect(await read(theirs, other)).to.deep.equal(before)
  })

  it('is in no list, also when it is asked for', async () => {
    const targets = [
      `/v2/customers?external_id=${other.externalId}`,
      `/v2/products?external_id=${other.externalId}`,
      `/v2/prices?product_id=${other.product}`,
      `/v2/rate-cards?external_id=${other.externalId}`,
      `/v2/grants?account_id=${other.account}`,
      `/v2/grants?metric_id=${other.metric}`,
      `/v2/grants?account_id=${other.account}&metric_id=${other.metric}`,
      `/v2/grants?account_id=${other.account}&currency=usd`,
      `/v2/grants?currency=xts`,
      `/v2/grants?contract_v1_id=${other.contract}`,
      `/v2/contracts?account_id=${other.account}`,
      `/v2/contracts?external_id=${other.externalId}`,
      `/v2/refill-configurations?account_id=${other.account}`,
      `/v2/refill-configurations?metric_id=${other.metric}`,
      `/v2/refill-configurations?account_id=${other.account}&metric_id=${other.metric}`,
    ]
    await theirs.create('/v2/grants', {
      account_id: other.account,
      currency: 'xts',
      amount: '1',
      effective_at: 0,
    })
    for (const target of targets)
      expect((await mine.get(target)).body, target).to.deep.equal({ data: [], has_more: false })
    for (const target of ['/v2/customers', '/v2/accounts', '/v2/accounts?sort=customer_name', '/v2/metrics'])
      expect((await mine.get<{ data: unknown[] }>(target)).body.data.length, target).to.equal(1)
    for (const target of [
      '/v2/grants',
      '/v2/refill-configurations',
      '/v2/products',
      '/v2/invoice-previews',
      '/v2/prices',
      '/v2/rate-cards',
      '/v2/contracts',
      `/v2/contracts/${ours.contract}/lines`,
    ])
      expect((await mine.get<{ data: unknown[] }>(target)).body.data.length, target).to.equal(1)
  })

  it('is no place in a list', async () => {
    for (const [path, cursor] of [
      ['/v2/customers', other.customer],
      ['/v2/accounts', other.account],
      ['/v2/metrics', other.metric],
      ['/v2/grants', other.grant],
      ['/v2/products', other.product],
      ['/v2/prices', other.price],
      ['/v2/rate-cards', other.rateCard],
      [`/v2/rate-cards/${ours.rateCard}/rates`, await firstRateOf(theirs, other)],
      ['/v2/contracts', other.contract],
      [`/v2/contracts/${ours.contract}/lines`, other.contractLine],
      ['/v2/refill-configurations', `${other.account}/${other.metric}`],
    ] as const) {
      const answer = await mine.get(`${path}?starting_after=${cursor}`)
      expect(answer.text, path).to.equal('starting_after: no item of this list has that id')
      expect(answer.status).to.equal(400)
    }
  })

  it('cannot be referred to', async () => {
    const usd = { currency: 'usd', amount: '1', effective_at: 0 }
    const credit = { amount: '1', effective_at: 0 }
    const amounts = { minimum_balance: '1', target_balance: '2' }
    const cases: [string, string, object, string][] = [
      ['POST', '/v2/accounts', { name: 'x', service_customer_id: other.customer }, 'service_customer_id'],
      [
        'PATCH',
        `/v2/accounts/${ours.account}`,
        { service_customer_id: other.customer },
        'service_customer_id',
      ],
      ['POST', '/v2/grants', { ...usd, account_id: other.account }, 'account_id'],
      ['POST', '/v2/grants', { ...credit, account_id: ours.account, metric_id: other.metric }, 'metric_id'],
      [
        'POST',
        '/v2/refill-configurations',
        { ...amounts, account_id: other.account, metric_id: ours.metric },
        'account_id',
      ],
      [
        'POST',
        '/v2/refill-configurations',
        { ...amounts, account_id: ours.account, metric_id: other.metric },
        'metric_id',
      ],
      ['POST', '/v2/prices', { ...PRICE, product_id: other.product }, 'product_id'],
      ['POST', '/v2/contracts', { ...CONTRACT, account_id: other.account }, 'account_id'],
      [
        'POST',
        `/v2/contracts/${ours.contract}/changes`,
        { add: [{ price_id: other.price }] },
        'add\\[0\\]\\.price_id',
      ],
      [
        'POST',
        `/v2/contracts/${ours.contract}/changes`,
        { add: [{ credit: { amount: '1', metric_id: other.metric } }] },
        'add\\[0\\]\\.credit\\.metric_id',
      ],
    ]
    for (const [method, target, body, field] of cases) {
      const answer = await mine.request(method, target, body, {})
      expect(answer.status, target).to.equal(422)
      expect(answer.text).to.match(new RegExp(`^${field}: there is no such`))
    }
    const rates: [object, string][] = [
      [{ metric_id: other.metric, price_id: ours.price }, '[0].metric_id'],
      [{ metric_id: ours.metric, price_id: other.price }, '[0].price_id'],
      [
        { metric_id: ours.metric, group_by: 'model', prices: [{ value: 'x', price_id: other.price }] },
        '[0].prices[0].price_id',
      ],
    ]
    for (const [rate, field] of rates)
      for (const [target, body, list] of [
        ['/v2/rate-cards', { name: 'x', currency: 'usd', rates: [rate] }, 'rates'],
        [`/v2/rate-cards/${ours.rateCard}/changes`, { add: [rate] }, 'add'],
      ] as const) {
        const answer = await mine.post(target, body)
        expect(answer.status, target).to.equal(422)
        expect(answer.text).to.contain(`${list}${field}: there is no such`)
      }
    const theirRate = await firstRateOf(theirs, other)
    const ended = await mine.post(`/v2/rate-cards/${ours.rateCard}/changes`, { end: [theirRate] })
    expect([ended.status, ended.text]).to.deep.equal([
      422,
      `end: ${theirRate} is not in force at the time of the change`,
    ])
  })

  it('leaves its external ids and Idempotency-Keys free', async () => {
    const headers = { 'Idempotency-Key': 'theirs' }
    await theirs.create('/v2/customers', { name: 'x', external_id: 'theirs' }, { headers })
    await theirs.create('/v2/accounts', { name: 'x', external_id: 'theirs' }, { headers })
    await theirs.create('/v2/metrics', { name: 'x', external_id: 'theirs' }, { headers })
    await theirs.create('/v2/products', { name: 'x', external_id: 'theirs' }, { headers })
    await theirs.create('/v2/rate-cards', { name: 'x', currency: 'usd', external_id: 'theirs' }, { headers })
    const card = await mine.post(
      '/v2/rate-cards',
      { name: 'x', currency: 'usd', external_id: 'theirs' },
      { headers },
    )
    expect(card.status).to.equal(200)
    for (const path of ['/v2/customers', '/v2/accounts', '/v2/metrics', '/v2/products'])
      expect(
        (await mine.post(path, { name: 'x', external_id: 'theirs' }, { headers })).status,
        path,
      ).to.equal(200)
  })
})

/** Makes one resource of each kind, in one namespace. */
async function makeWorld(api: ApiClient): Promise<World> {
  const make = async (path: string, body: object) => (await api.create<{ id: string }>(path, body)).id
  const externalId = randomUUID()
  const customer = await make('/v2/customers', { name: 'c', external_id: externalId })
  const account = await make('/v2/accounts', {
    name: 'a',
    external_id: externalId,
    service_customer_id: customer,
  })
  const metric = await make('/v2/metrics', { name: 'm', external_id: externalId })
  const source = { account_id: account, metric_id: metric }
  const grant = await make('/v2/grants', { ...source, amount: '1', effective_at: 0 })
  await api.create('/v2/refill-configurations', { ...source, minimum_balance: '1', target_balance: '2' })
  const product = await make('/v2/products', { name: 'p', external_id: externalId })
  const price = await make('/v2/prices', { ...PRICE, product_id: product })
  const rateCard = await make('/v2/rate-cards', {
    name: 'r',
    currency: 'usd',
    external_id: externalId,
    rates: [{ price_id: price }],
  })
  const { api_key } = await api.create<{ api_key: { id: string } }>('/v2/api-keys', {
    name: 'k',
    permissions: ['read:all'],
  })
  const { id: contract, lines } = await api.create<{ id: string; lines: { id: string }[] }>('/v2/contracts', {
    ...CONTRACT,
    account_id: account,
    external_id: externalId,
    lines: [{ minimum_amount: '1' }],
  })
  const contractLine = lines[0]?.id ?? ''
  const made = { account, customer, metric, grant, product, price, rateCard, contract, contractLine }
  return { ...made, externalId, apiKey: api_key.id }
}

const firstRateOf = async (api: ApiClient, { rateCard }: World): Promise<string> =>
  (await api.get<{ rates: { id: string }[] }>(`/v2/rate-cards/${rateCard}`)).body.rates[0]?.id ?? ''

/** The paths of an operation with an id of another company. If the path has several ids, one at a time is replaced. */
function targetsOf({ operationId, path }: Operation, ours: World, other: World): string[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const query =
    NEEDS[operationId]?.query?.(other) ?? (path.includes('/usage') ? 'start_at=0&end_at=86400' : '')
  return names.map((foreign) => {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const world = name === foreign ? other : ours
      const ids: Record<string, string> = {
        account_id: world.account,
        customer_id: world.customer,
        metric_id: world.metric,
        grant_id: world.grant,
        product_id: world.product,
        price_id: world.price,
        rate_card_id: world.rateCard,
        contract_id: world.contract,
        external_id: world.externalId,
        api_key_id: world.apiKey,
      }
      const id = ids[name]
      if (id === undefined) throw new Error(`${operationId}: say what ${name} is`)
      return id
    })
    return query === '' ? filled : `${filled}?${query}`
  })
}
