import { expect } from 'chai'
import { fetchTransport } from '../../../clients/sdk/src/core/fetch-transport.ts'
import {
  ApiError,
  BadRequestError,
  ConflictError,
  ForbiddenError,
  InvalidKeyError,
  NotFoundError,
  Tally,
  TooLargeError,
  UnprocessableError,
  UnsupportedMediaError,
} from '../../../clients/sdk/src/node.ts'
import { readOpenApiDocument } from '../../../shared/http/openapi-document.ts'
import { readSdkOperations, type SdkOperation } from '../../../tools/generate/sdk-operations.ts'
import { makeRequestWorld, type Request, TRIES, type World } from '../../contract/requests.ts'
import { ApiClient } from '../../support/api-client.ts'
import { failureOf } from '../../support/failure-of.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

type Methods = Record<string, Record<string, (...args: unknown[]) => Promise<unknown>>>

/** Calls an operation through the SDK with a request that is written as method and path. */
function call(tally: Tally, operation: SdkOperation, { target, body }: Request): Promise<unknown> {
  const [path = '', query] = target.split('?')
  const pattern = new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`)
  const values = pattern.exec(path)?.slice(1).map(decodeURIComponent) ?? []
  const contents = [
    ...(operation.query === 'none' ? [] : [Object.fromEntries(new URLSearchParams(query))]),
    ...(operation.body === 'none' ? [] : [body]),
  ]
  const method = (tally as unknown as Methods)[operation.resource]?.[operation.name]
  if (method === undefined) throw new Error(`the SDK has no ${operation.resource}.${operation.name}`)
  return method(...values, ...contents)
}

describe('every operation through the SDK', function () {
  this.timeout(120_000)
  const operations = readSdkOperations(readOpenApiDocument())
  let under: TallyUnderTest
  let live: World
  let trials: World
  let tally: Tally
  let sandbox: Tally

  before(async () => {
    under = await shareTallyUnderTest()
    const [liveApi, testApi] = [new ApiClient(under.url, under.key), new ApiClient(under.url, under.testKey)]
    ;[live, trials] = await Promise.all([makeRequestWorld(liveApi), makeRequestWorld(testApi)])
    tally = new Tally({ url: under.url, apiKey: under.key })
    sandbox = new Tally({ url: under.url, apiKey: under.testKey, transport: fetchTransport() })
  })
  after(() => {
    tally.close()
  })

  const triesOf = ({ id }: SdkOperation) => {
    const tries = TRIES[id]
    if (tries === undefined) throw new Error(`test/contract/requests.ts does not try ${id}`)
    return tries
  }
  const isForTests = (operation: SdkOperation) => triesOf(operation).isForTests === true
  const send = (operation: SdkOperation, request: Request) =>
    call(isForTests(operation) ? sandbox : tally, operation, request)
  const worldOf = (operation: SdkOperation) => (isForTests(operation) ? trials : live)

  it('succeeds, by node:http and by fetch, and raises what it is refused with', async () => {
    for (const operation of operations) {
      const { good, conflict, impossible } = triesOf(operation)
      const world = worldOf(operation)
      const answer = await send(operation, await good(world))
      if (operation.mediaType === 'application/json') expect(answer, operation.id).to.be.an('object')
      else expect(answer, operation.id).to.be.a('string')
      for (const [refused, Class] of [
        [conflict, ConflictError],
        [impossible, UnprocessableError],
      ] as const)
        if (refused !== undefined)
          expect(await failureOf(send(operation, await refused(world))), operation.id).to.be.instanceOf(Class)
    }
  })

  it('has one page after the other, each item once', async () => {
    const api = new ApiClient(under.url, under.key)
    const { id: account } = await api.create<{ id: string }>('/v2/accounts', { name: 'pages' })
    const made: string[] = []
    for (let n = 0; n < 7; n++)
      made.push(
        (await tally.grants.create({ account_id: account, currency: 'usd', amount: n + 1, effective_at: 0 }))
          .id,
      )
    const listed: string[] = []
    for await (const { id } of tally.grants.list({ account_id: account, limit: 3 })) listed.push(id)
    expect(listed).to.have.members(made)
    expect(listed.length).to.equal(7)
    const revisions = []
    await tally.events.correct(live.eventId, { quantity: 3n })
    for await (const { revision } of tally.events.revisions(live.eventId, { limit: 1 }))
      revisions.push(revision)
    expect(revisions).to.deep.equal(revisions.map((_, index) => index))
    expect(revisions.length).to.be.above(1)
  })

  it('raises the class of each other status that a request can have', async () => {
    const reader = await tally.apiKeys.create({ name: 'reader', permissions: ['read:all'] })
    const forbidden = new Tally({ url: under.url, apiKey: reader.key })
    const wrong = new Tally({ url: under.url, apiKey: 'tally_live_wrong' })
    const raised: [() => Promise<unknown>, typeof ApiError][] = [
      [() => tally.accounts.list({ limit: 1_000 }), BadRequestError],
      [() => tally.accounts.create({} as { name: string }), BadRequestError],
      [() => wrong.accounts.list(), InvalidKeyError],
      [() => forbidden.accounts.create({ name: 'a' }), ForbiddenError],
      [() => tally.testClock.get(), ForbiddenError],
      [() => tally.accounts.get(`account_${'0'.repeat(32)}`), NotFoundError],
      [() => tally.accounts.create({ name: 'a'.repeat(3_000_000) }), TooLargeError],
    ]
    for (const [work, Class] of raised) expect(await failureOf(work())).to.be.instanceOf(Class)
    const asForm = new Tally({
      url: under.url,
      apiKey: under.key,
      transport: {
        send: ({ headers, ...request }) =>
          fetchTransport().send({ ...request, headers: { ...headers, 'content-type': 'text/plain' } }),
      },
    })
    expect(await failureOf(asForm.accounts.create({ name: 'a' }))).to.be.instanceOf(UnsupportedMediaError)
  })

  it('names the faults of a batch', async () => {
    const event = { account_id: live.account, metric_id: live.metric, quantity: '1' }
    const err = await failureOf(tally.events.reportMany({ events: [event, { ...event, quantity: 'much' }] }))
    expect(ApiError.is(err) && err.faults.map(({ index, field }) => [index, field])).to.deep.equal([
      [1, 'quantity'],
    ])
  })
})
