import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { newApiKey } from '../../shared/domain/api-key.ts'
import { listOperations, readOpenApiDocument, type Operation } from '../../shared/http/openapi-document.ts'
import { ApiClient, type Answered, type RequestOptions } from '../support/api-client.ts'
import { startTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { until } from '../support/until.ts'
import { PatientClient } from './patient-client.ts'
import { makeRequestWorld, TRIES, type Request, type Tries, type World } from './requests.ts'

/** What only a fault brings about; faults.test.ts does, once for each service. */
const FAULTS = ['408', '500', '503']

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
  const keys: Record<string, string> = {}

  before(async () => {
    const env = { RATE_LIMIT_REQUESTS_PER_S: '1', RATE_LIMIT_EVENTS_PER_S: '1000' }
    ;[tally, limited] = await Promise.all([startTallyUnderTest(), startTallyUnderTest(env)])
    api = new ApiClient(tally.url, tally.key)
    world = await makeRequestWorld(api)
    limitedWorld = await makeRequestWorld(new PatientClient(limited.url, limited.testKey))
    const issue = async (...args: string[]) => {
      const { output } = await tally.command('keys', 'issue', ...args)
      return { key: /tally_live_\w+/.exec(output)?.[0] ?? '', id: /[0-9a-f-]{36}/.exec(output)?.[0] ?? '' }
    }
    keys['read:all'] = (await issue('--permissions', 'read:all')).key
    keys['write:all'] = (await issue('--permissions', 'write:all')).key
    const spent = await issue()
    keys['revoked'] = spent.key
    await tally.command('keys', 'revoke', spent.id)
    const revoked = new ApiClient(tally.url, keys['revoked'])
    await until(async () => (await revoked.get('/v2/metrics')).status === 401)
  })
  after(async () => {
    await Promise.all([tally.end(), limited.end()])
  })

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
    const { operationId, permission, method } = operation
    const statuses = statusesOf(operation)

    it(`${operationId} answers each status it lists`, async () => {
      const tries = triesOf(operation)
      const good = await tries.good(world)
      const answer = await send(api, operation, good)
      expect(answer.status, answer.text).to.be.oneOf([200, 202])
      if (statuses.includes('400')) {
        const wrong = await send(api, operation, withQuery(await tries.good(world), 'surprise=1'))
        expect(wrong.status, wrong.text).to.equal(400)
      }
      if (permission !== undefined) {
        for (const key of [undefined, 'x', newApiKey('live'), keys['revoked']]) {
          const refused = await send(new ApiClient(tally.url, key), operation, good)
          expect([refused.status, refused.text]).to.deep.equal([401, 'Invalid API key'])
        }
        const other = permission === 'read:all' ? 'write:all' : 'read:all'
        const forbidden = await send(new ApiClient(tally.url, keys[other]), operation, good)
        expect([forbidden.status, forbidden.text]).to.deep.equal([
          403,
          `this key does not have the permission ${permission}`,
        ])
      }
      if (statuses.includes('404')) {
        const stranger = new ApiClient(tally.url, tally.testKey)
        const missing = await send(stranger, operation, tries.missing?.(world) ?? good)
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
        method: 'DELETE',
        headers: { 'x-api-key': tally.key },
      })
      expect(unknown.status).to.equal(405)
      expect(unknown.headers.get('allow')).to.contain(method.toUpperCase())
    })

    if (statuses.includes('429'))
      it(`${operationId} answers 429 to whoever asks too much, and says when to come back`, async () => {
        const client = new ApiClient(limited.url, limited.testKey)
        const refused = await until(async () => {
          if (countsEvents(operation)) await reportAsManyAsAllowed(client, limitedWorld)
          const good = await triesOf(operation).good(limitedWorld)
          const answers = await Promise.all([1, 2, 3].map(() => send(client, operation, good)))
          return answers.find(({ status }) => status === 429) ?? false
        })
        expect(refused.text).to.equal('rate limit exceeded')
        expect(Number(refused.headers.get('retry-after'))).to.equal(1)
        expect(refused.headers.get('ratelimit-policy')).to.match(/^"(requests|events)";q=\d+;w=1$/)
        expect(refused.headers.get('ratelimit')).to.match(/^"(requests|events)";r=0;t=1$/)
      })
  }

  it('has a test for nothing that is not there', () => {
    const known = new Set(listOperations(document).map(({ operationId }) => operationId))
    expect(Object.keys(TRIES).filter((id) => !known.has(id))).to.deep.equal([])
  })
})

/** Reports and corrections take of another limit than other requests. */
const countsEvents = ({ path, method }: Operation): boolean =>
  method !== 'get' && path.startsWith('/v2/events')

async function reportAsManyAsAllowed(client: ApiClient, { account, metric }: World): Promise<void> {
  const event = { account_id: account, metric_id: metric, quantity: '1' }
  await client.post('/v2/events/batch', { events: Array(1_000).fill(event) })
}
