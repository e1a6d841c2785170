import { createHash } from 'node:crypto'
import { expect } from 'chai'
import {
  type Mode,
  newApiKey,
  type Permission,
  PERMISSIONS,
  READ_ACCOUNT,
} from '../../shared/domain/api-key.ts'
import { listOperations, type Operation, readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { makeCompany } from '../../shared/postgres/make-company.ts'
import { type Answered, ApiClient, type RequestOptions } from '../support/api-client.ts'
import { openPoolByHand } from '../support/by-hand.ts'
import { insertKey } from '../support/insert-key.ts'
import { shareTallyUnderTest, startTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { until } from '../support/until.ts'
import { makeRequestWorld, type Request, TRIES, type Tries, type World } from './requests.ts'
import { UnlimitedClient } from './unlimited-client.ts'

/** Statuses that only a fault causes; faults.test.ts tests them, once for each service. */
const FAULTS = ['408', '500', '503']

/** A company that may be reset at any time. */
const TRIALS = 'trials'

interface OperationObject {
  responses: Record<string, unknown>
}

describe('every operation of openapi.yaml', function () {
  this.timeout(120_000)
  const document = readOpenApiDocument()
  const seen = new Map<string, Set<string>>()
  let tally: TallyUnderTest
  let limited: TallyUnderTest
  let api: ApiClient
  let world: World
  let limitedWorld: World
  let trials: Company
  let limitedTrials: Company
  const keys: Record<string, string> = {}
  let revokedKey: string
  let pool: Pool
  let limitedPool: Pool

  before(async () => {
    const env = {
      RATE_LIMIT_REQUESTS_PER_S: '1',
      RATE_LIMIT_EVENTS_PER_S: '1000',
      RATE_LIMIT_ACCOUNT_REQUESTS_PER_S: '3',
    }
    // Why a separate Tally: it has very low limits.
    ;[tally, limited] = await Promise.all([shareTallyUnderTest(), startTallyUnderTest(env)])
    api = new ApiClient(tally.url, tally.key)
    world = await makeRequestWorld(api)
    pool = openPoolByHand(tally.postgres.serviceUrl)
    limitedPool = openPoolByHand(limited.postgres.serviceUrl)
    limitedWorld = await makeRequestWorld(new UnlimitedClient(limited.url, limitedPool, 'sandbox'))
    trials = await makeTrials(pool, (key) => new ApiClient(tally.url, key))
    limitedTrials = await makeTrials(limitedPool, () => new UnlimitedClient(limited.url, limitedPool, TRIALS))
    const companyId = (await companyRepository(pool).findByName(tally.company))?.id ?? ''
    for (const permission of PERMISSIONS)
      keys[permission] = await makeKey(pool, { companyId, mode: 'live', permissions: [permission] })
    revokedKey = newApiKey('live')
    const id = await insertKey(pool, { companyId, key: revokedKey })
    await tally.command('keys', 'revoke', id)
    const revoked = new ApiClient(tally.url, revokedKey)
    await until(async () => (await revoked.get('/v2/metrics')).status === 401)
  })
  after(async () => {
    await pool.end()
    await limitedPool.end()
    await limited.end()
  })

  const live = () => ({ api, world, keys })

  const send = async (
    client: ApiClient,
    { operationId, method }: Operation,
    { target, body }: Request,
    options: RequestOptions = {},
  ): Promise<Answered<unknown>> => {
    const answer = await client.request<unknown>(method.toUpperCase(), target, body, options)
    const statuses = seen.get(operationId) ?? new Set<string>()
    seen.set(operationId, statuses.add(String(answer.status)))
    return answer
  }

  const triesOf = (operation: Operation): Tries => {
    const tries = TRIES[operation.operationId]
    if (tries === undefined)
      throw new Error(`test/contract/requests.ts does not try ${operation.operationId}`)
    return tries
  }
  const statusesOf = ({ path, method }: Operation): string[] =>
    Object.keys((document.paths[path]?.[method] as unknown as OperationObject).responses)
  const withQuery = ({ target, body }: Request, query: string): Request => ({
    target: `${target}${target.includes('?') ? '&' : '?'}${query}`,
    body,
  })

  for (const operation of listOperations(document)) {
    const { operationId, permissions, method } = operation
    const statuses = statusesOf(operation)

    it(`${operationId} answers each status it lists`, async () => {
      const tries = triesOf(operation)
      const { api, world, keys } = tries.isForTests === true ? trials : live()
      const good = await tries.good(world)
      const answer = await send(api, operation, good)
      expect(answer.status, answer.text).to.be.oneOf([200, 202])
      if (statuses.includes('400')) {
        const wrong = await send(api, operation, withQuery(await tries.good(world), 'surprise=1'))
        expect(wrong.status, wrong.text).to.equal(400)
      }
      if (permissions !== undefined) {
        for (const key of [undefined, 'x', newApiKey('live'), revokedKey]) {
          const refused = await send(new ApiClient(tally.url, key), operation, good)
          expect([refused.status, refused.text]).to.deep.equal([401, 'Invalid API key'])
        }
        for (const [permission, key] of Object.entries(keys)) {
          const isEnough = permissions.some((one) => one === permission)
          if (isEnough && permissions.length === 1) continue
          const ofOne = await send(new ApiClient(tally.url, key), operation, good)
          expect([ofOne.status, isEnough || ofOne.text], permission).to.deep.equal(
            isEnough
              ? [200, true]
              : [403, `this key does not have the permission ${permissions.join(' or ')}`],
          )
        }
      }
      if (tries.isForTests === true) {
        const refused = await send(live().api, operation, good)
        expect([refused.status, refused.text]).to.deep.equal([
          403,
          'only for test companies: this key belongs to a live company',
        ])
      }
      if (statuses.includes('404')) {
        const ofAccount = tries.missingToAccountKey?.(world)
        const stranger = new ApiClient(
          tally.url,
          ofAccount ? await accountKey(api, world.spare.account) : tally.testKey,
        )
        const missing = await send(stranger, operation, ofAccount ?? tries.missing?.(world) ?? good)
        expect([missing.status, missing.text]).to.deep.equal([404, 'not found'])
      }
      if (statuses.includes('409')) {
        const request = await (tries.conflict ?? tries.good)(world)
        const headers = { 'Idempotency-Key': createHash('sha256').update(operationId).digest('hex') }
        const first = await send(api, operation, request, { headers })
        const second = await send(api, operation, request, { headers })
        expect([first.status, second.status]).to.include(409)
      }
      if (statuses.includes('413')) {
        const huge = { target: good.target, body: { name: 'x'.repeat(5 * 1_024 * 1_024) } }
        expect((await send(api, operation, huge)).status).to.equal(413)
      }
      if (statuses.includes('415')) {
        const headers = { 'content-type': 'text/plain' }
        expect((await send(api, operation, good, { headers })).status).to.equal(415)
      }
      if (statuses.includes('431')) {
        const headers = { 'x-remark': 'x'.repeat(16 * 1_024) }
        expect((await send(api, operation, good, { headers })).status).to.equal(431)
      }
      if (statuses.includes('422')) {
        expect(tries.impossible, 'an impossible request').not.to.equal(undefined)
        const answer = await send(api, operation, (await tries.impossible?.(world)) as Request)
        expect(answer.status, answer.text).to.equal(422)
      }
      const missed = statuses.filter(
        (status) => ![...FAULTS, '429'].includes(status) && seen.get(operationId)?.has(status) !== true,
      )
      expect(missed, 'statuses that no request caused').to.deep.equal([])
      const unknown = await fetch(tally.url + good.target, {
        method: 'delete' in (document.paths[operation.path] ?? {}) ? 'PATCH' : 'DELETE',
        headers: { 'x-api-key': tally.key },
      })
      expect(unknown.status).to.equal(405)
      expect(unknown.headers.get('allow')).to.contain(method.toUpperCase())
    })

    if (statuses.includes('429'))
      it(`${operationId} answers 429 to whoever asks too much, and says when to come back`, async () => {
        const tries = triesOf(operation)
        const { key, world } =
          tries.isForTests === true ? limitedTrials : { key: limited.testKey, world: limitedWorld }
        const client = new ApiClient(limited.url, key)
        const refused = await until(async () => {
          if (countsEvents(operation)) await reportAsManyAsAllowed(client, world)
          const good = await tries.good(world)
          const answers = await Promise.all([1, 2, 3].map(() => send(client, operation, good)))
          return answers.find(({ status }) => status === 429) ?? false
        })
        expect(refused.text).to.equal('rate limit exceeded')
        expect(Number(refused.headers.get('retry-after'))).to.equal(1)
        expect(refused.headers.get('ratelimit-policy')).to.match(/^"(requests|events)";q=\d+;w=1$/)
        expect(refused.headers.get('ratelimit')).to.match(/^"(requests|events)";r=0;t=1$/)
      })
  }

  it('limits the account keys of one account together, and those of another account apart', async () => {
    const unlimited = new UnlimitedClient(limited.url, limitedPool, 'sandbox')
    const { spare, account } = limitedWorld
    const keys = await Promise.all([1, 2].map(() => accountKey(unlimited, spare.account)))
    const other = await accountKey(unlimited, account)
    const ask = (key: string) => new ApiClient(limited.url, key).get('/v2/caller')
    const refused = await until(async () => {
      const answers = await Promise.all([...keys, ...keys].map(ask))
      return answers.find(({ status }) => status === 429) ?? false
    })
    expect(refused.headers.get('ratelimit-policy')).to.equal('"account-requests";q=3;w=1')
    expect(refused.headers.get('retry-after')).to.equal('1')
    const { status, headers } = await ask(other)
    expect([status, headers.get('ratelimit')]).to.deep.equal([200, '"account-requests";r=2;t=1'])
  })

  it('has a test for nothing that is not there', () => {
    const known = new Set(listOperations(document).map(({ operationId }) => operationId))
    expect(Object.keys(TRIES).filter((id) => !known.has(id))).to.deep.equal([])
  })
})

/** A company that may be reset at any time. */
interface Company {
  api: ApiClient
  key: string
  world: World
  /** Keys of this company, by their only permission. */
  keys: Record<string, string>
}

async function makeTrials(pool: Pool, connect: (key: string) => ApiClient): Promise<Company> {
  const companyId = await makeCompany(pool, { name: TRIALS, mode: 'test' })
  const of = (permissions: readonly Permission[]) => makeKey(pool, { companyId, mode: 'test', permissions })
  const key = await of(PERMISSIONS)
  const api = connect(key)
  const world = await makeRequestWorld(api)
  const keys: Record<string, string> = {}
  for (const permission of PERMISSIONS) keys[permission] = await of([permission])
  return { api, key, world, keys }
}

async function makeKey(
  pool: Pool,
  { companyId, mode, permissions }: { companyId: string; mode: Mode; permissions: readonly Permission[] },
): Promise<string> {
  const key = newApiKey(mode)
  await insertKey(pool, { companyId, key, permissions: [...permissions] })
  return key
}

/** Makes a key of the spare account. */
async function accountKey(api: ApiClient, account: string): Promise<string> {
  const body = { name: 'k', account_id: account, permissions: [READ_ACCOUNT], expires_at: inAnHour() }
  return (await api.create<{ key: string }>('/v2/api-keys', body)).key
}

const inAnHour = () => Math.floor(Date.now() / 1_000) + 3_600

/** Whether an operation has the limit of reports and corrections, not that of other requests. */
const countsEvents = ({ path, method }: Operation): boolean =>
  method !== 'get' && path.startsWith('/v2/events')

async function reportAsManyAsAllowed(client: ApiClient, { account, metric }: World): Promise<void> {
  const event = { account_id: account, metric_id: metric, quantity: '1' }
  await client.post('/v2/events/batch', { events: Array(1_000).fill(event) })
}
