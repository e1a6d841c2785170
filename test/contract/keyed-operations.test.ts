import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { listOperations, type Operation, readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { type Answered, ApiClient } from '../support/api-client.ts'
import { openPoolByHand } from '../support/by-hand.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { turned } from '../support/turned-json.ts'
import { makeRequestWorld, type Request, TRIES, type World } from './requests.ts'

/** Fields that give a request of each keyed operation another content; undefined if no field can. */
const OTHERWISE: Readonly<Record<string, object | undefined>> = {
  createCustomer: { name: 'another' },
  createAccount: { name: 'another' },
  createMetric: { name: 'another' },
  createGrant: { amount: '2' },
  createRefillConfiguration: { target_balance: '11' },
  reportEvent: { quantity: '2' },
  reportEvents: { events: [] },
  createProduct: { name: 'another' },
  createPrice: { unit_amount: '4' },
  createRateCard: { name: 'another' },
  changeRateCard: { effective_at: 4_102_444_800 },
  createContract: { name: 'another' },
  changeContract: { effective_at: 4_102_444_800 },
  cancelContract: { reason: 'another' },
  uncancelContract: undefined,
  createApiKey: { name: 'another' },
  rotateApiKey: { overlap_seconds: 61 },
  advanceTestClock: { seconds: 61 },
}

interface Made {
  id?: string
  event_ids?: string[]
  api_key?: { id: string }
  account_id?: string
  metric_id?: string
}

/** The header of a 409 that names what the first request with the key made. */
const RESOURCE = 'Idempotency-Resource'

const document = readOpenApiDocument()
const isKeyed = ({ path, method }: Operation) =>
  document.paths[path]?.[method]?.parameters?.some(
    ({ $ref }) => $ref === '#/components/parameters/IdempotencyKey',
  ) === true
const keyed = listOperations(document).filter(isKeyed)

describe('operations with an Idempotency-Key', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let live: World
  let test: World

  before(async () => {
    tally = await shareTallyUnderTest()
    ;[live, test] = (await Promise.all(
      [tally.key, tally.testKey].map((key) => makeRequestWorld(new ApiClient(tally.url, key))),
    )) as [World, World]
  })
  after(() => tally.end())

  const worldOf = (operationId: string) => (TRIES[operationId]?.isForTests === true ? test : live)
  const goodOf = async (operationId: string): Promise<Request> => {
    const tries = TRIES[operationId]
    if (tries === undefined) throw new Error(`test/contract/requests.ts does not try ${operationId}`)
    return tries.good(worldOf(operationId))
  }
  const post = ({ api }: World, { target, body }: Request, key: string) =>
    api.post<Made>(target, body, { headers: { 'Idempotency-Key': key } })

  /** The name of the resource that the 409 of a repeat must contain. */
  const nameOf = (operationId: string, made: Made): string | RegExp => {
    const { id, event_ids: ids, api_key: key, account_id: accountId, metric_id: metricId } = made
    if (operationId === 'createRefillConfiguration') return `${accountId ?? ''}/${metricId ?? ''}`
    if (operationId === 'advanceTestClock') return /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/ // the company
    return id ?? key?.id ?? ids?.[0] ?? 'nothing'
  }

  const expectNamed = ({ headers }: Answered<unknown>, name: string | RegExp) => {
    const named = headers.get(RESOURCE) ?? 'nothing'
    if (typeof name === 'string') expect(named).to.equal(name)
    else expect(named).to.match(name)
  }

  it('are all tried', () => {
    expect(keyed.map(({ operationId }) => operationId)).to.have.members(Object.keys(OTHERWISE))
  })

  it('are those that docs/reference/keys.md lists', async () => {
    const page = await readFile(path.join(PROJECT_ROOT, 'docs/reference/keys.md'), 'utf8')
    const listed = [...page.matchAll(/^\| `(\w+) (\S+)` +\|/gm)].map(
      ([, method, route]) => `${method} ${route}`,
    )
    expect(listed).to.have.members(keyed.map((one) => `${one.method.toUpperCase()} ${one.path}`))
  })

  for (const { operationId } of keyed)
    it(`${operationId} is done once, says what for, and whether another content was meant`, async () => {
      const world = worldOf(operationId)
      const key = randomUUID()
      const good = await goodOf(operationId)
      const first = await post(world, good, key)
      expect(first.status, first.text).to.be.oneOf([200, 202])
      const name = nameOf(operationId, first.body)
      const before = `Idempotency-Key: this key was used before, for `
      const expectRefused = (answer: Answered<unknown>, end: string) => {
        expect(answer.status, answer.text).to.equal(409)
        expectNamed(answer, name)
        const shown = typeof name === 'string' ? answer.text : answer.text.replace(name, 'it')
        expect(shown).to.equal(`${before}${typeof name === 'string' ? name : 'it'}${end}`)
      }
      expectRefused(await post(world, good, key), '')
      expectRefused(await post(world, { ...good, body: turned(good.body) }, key), '')
      const otherwise = OTHERWISE[operationId]
      if (otherwise === undefined) return
      const body = { ...(good.body as object), ...otherwise }
      if (operationId === 'reportEvents')
        body['events' as keyof typeof body] = [1, 2].flatMap(
          () => (good.body as { events: object[] }).events,
        ) as never
      const other = await post(world, { ...good, body }, key)
      expectRefused(other, ', with another content: nothing of this request was done')
    })

  it('that made nothing, and what another company made, are named to nobody', async () => {
    const key = randomUUID()
    const taken = { target: '/v2/accounts', body: { name: 'a', external_id: live.externalId } }
    const refused = [await post(live, taken, key), await post(live, { ...taken, body: {} }, key)]
    const free = { ...taken, body: { name: 'a' } }
    const ours = await post(live, free, key)
    const theirs = await post(test, free, key)
    expect([...refused, ours, theirs].map(({ status }) => status)).to.deep.equal([409, 400, 200, 200])
    for (const { headers } of [...refused, ours, theirs]) expect(headers.get(RESOURCE)).to.equal(null)
    expectNamed(await post(live, free, key), ours.body.id ?? '')
    expectNamed(await post(test, free, key), theirs.body.id ?? '')
    expect(ours.body.id).to.not.equal(theirs.body.id)
  })

  it('at once are done once, and the others say what for', async () => {
    for (const { operationId } of keyed.filter(({ path }) => !path.startsWith('/v2/events'))) {
      const world = worldOf(operationId)
      const key = randomUUID()
      const good = await goodOf(operationId)
      const answers = await Promise.all(Array.from({ length: 5 }, () => post(world, good, key)))
      const [done, ...others] = answers.filter(({ status }) => status === 200)
      expect(others.length, operationId).to.equal(0)
      const name = nameOf(operationId, done?.body ?? {})
      for (const other of answers.filter((answer) => answer !== done)) {
        const { status, text } = other
        expect(status, `${operationId}: ${text}`).to.equal(409)
        expectNamed(other, name)
        expect(text.replace(name, 'it')).to.equal('Idempotency-Key: this key was used before, for it')
      }
    }
  })

  it('ask for the same with null for what they leave out', async () => {
    const key = randomUUID()
    const target = '/v2/accounts'
    const first = await post(live, { target, body: { name: 'a', external_id: null } }, key)
    expect(first.status, first.text).to.equal(200)
    const { status, text } = await post(live, { target, body: { name: 'a' } }, key)
    expect(status).to.equal(409)
    expect(text).to.not.contain('another content')
  })

  it('on one kind of resource are done to each of them, with one key', async () => {
    const { api, account, metric, price } = live
    const create = async (target: string, body: object) => (await api.create<{ id: string }>(target, body)).id
    const contract = () => create('/v2/contracts', { account_id: account, currency: 'usd', cadence: 'month' })
    const card = () => create('/v2/rate-cards', { name: 'c', currency: 'usd' })
    const apiKey = async () => {
      const body = { name: 'k', permissions: ['read:all'] }
      return (await api.create<{ api_key: { id: string } }>('/v2/api-keys', body)).api_key.id
    }
    const credit = { credit: { amount: '1', currency: 'usd' } }
    const cases: [make: () => Promise<string>, path: (id: string) => string, body: object][] = [
      [contract, (id) => `/v2/contracts/${id}/changes`, { add: [credit] }],
      [contract, (id) => `/v2/contracts/${id}/cancel`, { mode: 'period_end' }],
      [contract, (id) => `/v2/contracts/${id}/uncancel`, {}],
      [card, (id) => `/v2/rate-cards/${id}/changes`, { add: [{ metric_id: metric, price_id: price }] }],
      [apiKey, (id) => `/v2/api-keys/${id}/rotate`, { overlap_seconds: 60 }],
    ]
    for (const [make, path, body] of cases) {
      const key = randomUUID()
      const ids = [await make(), await make()]
      for (const id of ids) {
        const { status, text } = await post(live, { target: path(id), body }, key)
        expect(status, `${path(id)}: ${text}`).to.equal(200)
      }
      for (const id of ids) expect((await post(live, { target: path(id), body }, key)).status).to.equal(409)
    }
    const [one, other] = [await contract(), await contract()]
    const key = randomUUID()
    for (const id of [one, other])
      await post(live, { target: `/v2/contracts/${id}/cancel`, body: { mode: 'immediate' } }, key)
    for (const id of [one, other])
      expect((await api.get<{ status: string }>(`/v2/contracts/${id}`)).body.status).to.equal('canceled')
    const again = { target: `/v2/contracts/${one.toUpperCase()}/cancel`, body: { mode: 'immediate' } }
    expect((await post(live, again, key)).status, 'the same id in upper case').to.equal(409)
  })

  it('are refused on every resource with a key that an earlier version used on any of them', async () => {
    const pool = openPoolByHand(tally.postgres.superuserUrl)
    const key = randomUUID()
    const ofOne = keyed.filter(({ path: route }) => route.includes('{'))
    await pool.query(
      `INSERT INTO tally.idempotency_keys (namespace_id, route, key, first_used_at, completed_at, form)
       SELECT n.namespace_id, route, $2, now(), now(), 1
       FROM tally.namespaces n JOIN tally.companies c USING (company_id), unnest($3::text[]) AS route
       WHERE c.name = $1 AND n.retired_at IS NULL`,
      [tally.company, key, ofOne.map((one) => `POST ${one.path}`)],
    )
    await pool.end()
    expect(ofOne.length).to.equal(5)
    for (const { operationId } of ofOne) {
      const { status, text, headers } = await post(live, await goodOf(operationId), key)
      expect(headers.get(RESOURCE)).to.equal(null)
      expect([status, text]).to.deep.equal([
        409,
        'Idempotency-Key: this key was used before, by an earlier version of Tally, which did not record its resource',
      ])
    }
  })

  it('that were done as often as can be say so, not that it cannot be done once more', async () => {
    const { api } = test
    const seconds = 6 * 366 * 86_400
    const key = randomUUID()
    const advance = { target: '/v2/test/clock/advance', body: { seconds } }
    expect((await post(test, advance, key)).status).to.equal(200)
    expect((await post(test, advance, key)).status).to.equal(409)
    expect((await post(test, advance, randomUUID())).status).to.equal(422)
    await api.request('DELETE', '/v2/test/clock', undefined, {})
  })
})
