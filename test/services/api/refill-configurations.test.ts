import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

interface Configuration {
  account_id: string
  metric_id: string
  minimum_balance: string
  target_balance: string
  is_active: boolean
  updated_at: number
}

const PATH = '/v2/refill-configurations'
const NO_ACCOUNT = `account_${'0'.repeat(32)}`
const NO_METRIC = `metric_${'0'.repeat(32)}`

describe('refill configurations over HTTP', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let api: ApiClient

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
  })
  after(() => tally.end())

  const make = async (path: string) => (await api.create<{ id: string }>(path, { name: 'x' })).id
  const makePair = async () => ({
    account_id: await make('/v2/accounts'),
    metric_id: await make('/v2/metrics'),
  })
  const pathOf = (pair: { account_id: string; metric_id: string }) =>
    `${PATH}/${pair.account_id}/${pair.metric_id}`
  const AMOUNTS = { minimum_balance: '10', target_balance: '50' }

  it('are created once for a pair, active by default, and found again', async () => {
    const pair = await makePair()
    const made = await api.create<Configuration>(PATH, {
      ...pair,
      minimum_balance: '-0.50',
      target_balance: '007',
    })
    expect(made).to.include({ ...pair, minimum_balance: '-0.5', target_balance: '7', is_active: true })
    expect((await api.get(pathOf(pair))).body).to.deep.equal(made)
    const again = await api.post(PATH, { ...pair, ...AMOUNTS })
    expect(again.status).to.equal(409)
    expect(again.text).to.match(/^account_id, metric_id: /)
    expect((await api.get(pathOf(pair))).body).to.deep.equal(made)
    const idle = { ...(await makePair()), ...AMOUNTS, is_active: false }
    expect(await api.create(PATH, idle)).to.include(idle)
  })

  it('use an Idempotency-Key up only when they are created', async () => {
    const pair = await makePair()
    const headers = { 'Idempotency-Key': 'refill' }
    const unknown = { ...pair, ...AMOUNTS, account_id: NO_ACCOUNT }
    expect((await api.post(PATH, unknown, { headers })).status).to.equal(422)
    expect((await api.post(PATH, { ...pair, ...AMOUNTS }, { headers })).status).to.equal(200)
    const repeated = await api.post(PATH, { ...(await makePair()), ...AMOUNTS }, { headers })
    expect([repeated.status, repeated.text]).to.deep.equal([
      409,
      `Idempotency-Key: this key was used before, for ${pair.account_id}/${pair.metric_id}, with another content: ` +
        'nothing of this request was done',
    ])
  })

  it('need an account and a metric that exist', async () => {
    const pair = await makePair()
    for (const [wrong, text] of [
      [{ account_id: NO_ACCOUNT }, /^account_id: there is no such account/],
      [{ metric_id: NO_METRIC }, /^metric_id: there is no such metric/],
    ] as const) {
      const answer = await api.post(PATH, { ...pair, ...AMOUNTS, ...wrong })
      expect(answer.status).to.equal(422)
      expect(answer.text).to.match(text)
    }
  })

  /**
   * Minimum, target, and whether the pair is valid. The values differ only in the last of 38 digits, where floats are
   * equal.
   */
  const comparisons: [string, string, boolean][] = [
    ['1', '1', false],
    ['1', '1.000', false],
    ['-0', '0', false],
    ['2', '1', false],
    ['9', '10', true],
    ['-1', '-2', false],
    ['-2', '-1', true],
    ['0', '0.000000000000000001', true],
    ['0.1', '0.100000000000000001', true],
    ['0.100000000000000001', '0.1', false],
    ['99999999999999999998.999999999999999999', '99999999999999999999', true],
    ['99999999999999999999', '99999999999999999999.000000000000000001', true],
    ['99999999999999999999.000000000000000001', '99999999999999999999', false],
    ['-99999999999999999999.999999999999999999', '99999999999999999999.999999999999999999', true],
  ]

  it('have a target above the minimum, compared exactly, from the start and after each change', async () => {
    const patched = await makePair()
    await api.create(PATH, { ...patched, minimum_balance: '0', target_balance: '1' })
    for (const [minimum_balance, target_balance, isFine] of comparisons) {
      const amounts = { minimum_balance, target_balance }
      const created = await api.post(PATH, { ...(await makePair()), ...amounts })
      const before = (await api.get<Configuration>(pathOf(patched))).body
      const changed = await api.patch<Configuration>(pathOf(patched), amounts)
      for (const answer of [created, changed]) {
        expect(answer.status, `${minimum_balance} < ${target_balance}`).to.equal(isFine ? 200 : 422)
        if (!isFine) expect(answer.text).to.equal('target_balance: must be greater than minimum_balance')
      }
      if (isFine) expect(changed.body).to.include(amounts)
      else expect((await api.get(pathOf(patched))).body).to.deep.equal(before)
    }
  })

  it('are changed field by field, each held against what stands', async () => {
    const pair = await makePair()
    const made = await api.create<Configuration>(PATH, { ...pair, ...AMOUNTS })
    expect((await api.patch(pathOf(pair), {})).body).to.deep.equal(made)
    const patch = (body: object) => api.patch<Configuration>(pathOf(pair), body)
    expect((await patch({ minimum_balance: '49.9' })).body).to.include({
      ...AMOUNTS,
      minimum_balance: '49.9',
    })
    expect((await patch({ target_balance: '49.9' })).status).to.equal(422)
    expect((await patch({ minimum_balance: '50' })).status).to.equal(422)
    expect((await patch({ is_active: false })).body).to.include({ minimum_balance: '49.9', is_active: false })
    expect((await patch({ target_balance: '60', is_active: true })).body).to.include({
      minimum_balance: '49.9',
      target_balance: '60',
      is_active: true,
    })
  })

  it('are refused with the field’s name when the body is wrong', async () => {
    const pair = await makePair()
    await api.create(PATH, { ...pair, ...AMOUNTS })
    const shared: [object, RegExp][] = [
      [{ minimum_balance: 1 }, /^minimum_balance: /],
      [{ minimum_balance: '1e3' }, /^minimum_balance: "1e3" is not a plain decimal number/],
      [{ target_balance: '123456789012345678901' }, /^target_balance: .* 21 digits/],
      [{ target_balance: '0.1234567890123456789' }, /^target_balance: .* 19 decimal places/],
      [{ target_balance: null }, /^target_balance: /],
      [{ is_active: 'true' }, /^is_active: /],
      [{ currency: 'usd' }, /^currency: is not a field/],
    ]
    for (const [wrong, text] of shared) {
      const created = await api.post(PATH, { ...(await makePair()), ...AMOUNTS, ...wrong })
      const changed = await api.patch(pathOf(pair), wrong)
      for (const answer of [created, changed]) {
        expect(answer.status, answer.text).to.equal(400)
        expect(answer.text).to.match(text)
      }
    }
    // Null has no meaning in a change; in a new configuration it means the default.
    expect((await api.patch(pathOf(pair), { is_active: null })).text).to.match(
      /^is_active: must be true or false/,
    )
    expect((await api.patch(pathOf(pair), { account_id: pair.account_id })).status).to.equal(400)
    for (const missing of ['account_id', 'metric_id', 'minimum_balance', 'target_balance']) {
      const answer = await api.post(PATH, { ...pair, ...AMOUNTS, [missing]: undefined })
      expect([answer.status, answer.text]).to.deep.equal([400, `${missing}: is required`])
    }
  })

  it('are 404 when there is none for the pair, and 400 when that is no id', async () => {
    const pair = await makePair()
    for (const path of [pathOf(pair), `${PATH}/${NO_ACCOUNT}/${NO_METRIC}`]) {
      expect((await api.get(path)).text).to.equal('not found')
      for (const body of [{}, { is_active: false }])
        expect((await api.patch(path, body)).text).to.equal('not found')
    }
    expect((await api.get(`${PATH}/${pair.metric_id}/${pair.account_id}`)).status).to.equal(400)
  })

  it('are listed after an account and a metric with a slash between them, however it is written', async () => {
    const pairs = [await makePair(), await makePair()]
    for (const pair of pairs) await api.create(PATH, { ...pair, ...AMOUNTS })
    const [first, second] = pairs as [(typeof pairs)[0], (typeof pairs)[0]]
    const cursor = `${first.account_id}/${first.metric_id}`
    for (const text of [cursor, encodeURIComponent(cursor)]) {
      const { body } = await api.get<{ data: Configuration[] }>(`${PATH}?starting_after=${text}`)
      expect(body.data[0]).to.include(second)
    }
    for (const text of [
      first.account_id,
      `${first.account_id}/${NO_METRIC}`,
      `${first.account_id}/${second.metric_id}`,
    ])
      expect((await api.get(`${PATH}?starting_after=${text}`)).status).to.equal(400)
  })
})
