import { expect } from 'chai'
import { READ_ACCOUNT } from '../../shared/domain/api-key.ts'
import { listOperations, type Operation, readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { type Answered, ApiClient } from '../support/api-client.ts'
import { type Request, shareRequestWorld, TRIES, type World } from './requests.ts'

/** The operations that account keys may use, as they were agreed. Each more is a decision, not an accident. */
const OFFERED = [
  'getCaller',
  'getAccount',
  'getAccountBalance',
  'getAccountDailyBalance',
  'getAccountUsage',
  'getAccountMonthlyUsage',
  'getAccountDailyUsage',
  'getUsage',
  'listGrants',
  'listRefills',
  'listMetrics',
  'listCurrencies',
]
/** Requests where those of requests.ts need a parameter that is not for account keys, or a test company. */
const PLAIN: Readonly<Record<string, (world: World) => Request>> = {
  setTestClock: () => ({ target: '/v2/test/clock', body: { now: 4_102_444_800 } }),
  getUsage: ({ metric }) => ({
    target: `/v2/usage?metric_id=${metric}&start_at=1700000000&end_at=1700086400`,
  }),
}

describe('every operation with an account key', function () {
  this.timeout(120_000)
  const all = listOperations(readOpenApiDocument()).filter(({ permissions }) => permissions !== undefined)
  const isOffered = ({ permissions }: Operation) => permissions?.includes(READ_ACCOUNT) === true
  let world: World
  let own: ApiClient
  let others: ApiClient

  before(async () => {
    const shared = await shareRequestWorld()
    world = shared.world
    const keyOf = async (account: string): Promise<ApiClient> => {
      const expiresAt = Math.floor(Date.now() / 1_000) + 86_400
      const body = { name: 'a', account_id: account, permissions: [READ_ACCOUNT], expires_at: expiresAt }
      const { key } = await shared.api.create<{ key: string }>('/v2/api-keys', body)
      return new ApiClient(shared.tally.url, key)
    }
    ;[own, others] = [await keyOf(world.account), await keyOf(world.spare.account)]
  })

  const send = async (client: ApiClient, { operationId, method }: Operation, added = '') => {
    const good = PLAIN[operationId] ?? TRIES[operationId]?.good
    if (good === undefined) throw new Error(`test/contract/requests.ts does not try ${operationId}`)
    const { target, body } = await good(world)
    const query = added === '' ? '' : `${target.includes('?') ? '&' : '?'}${added}`
    return client.request<unknown>(method.toUpperCase(), target + query, body, {})
  }
  const said = ({ status, text }: Answered<unknown>) => [status, text]

  it('is answered exactly where openapi.yaml offers it', () => {
    expect(all.filter(isOffered).map(({ operationId }) => operationId)).to.have.members(OFFERED)
  })

  for (const operation of all.filter((one) => !isOffered(one)))
    it(`${operation.operationId} refuses it`, async () => {
      const needed = operation.permissions?.join(' or ') ?? ''
      expect(said(await send(own, operation))).to.deep.equal([
        403,
        `this key does not have the permission ${needed}`,
      ])
    })

  for (const operation of all.filter(isOffered))
    it(`${operation.operationId} answers it, of its account alone`, async () => {
      const { accountIn } = operation
      const answer = await send(own, operation)
      expect(answer.status, answer.text).to.equal(200)
      expect(answer.headers.get('ratelimit')).to.match(/^"account-requests";r=\d+;t=\d+$/)
      if (accountIn === undefined) return
      const named = accountIn === 'query' ? `account_id=${world.account}` : ''
      expect(said(await send(own, operation, named))).to.deep.equal(said(answer))
      expect(said(await send(others, operation, named))).to.deep.equal([404, 'not found'])
    })
})
