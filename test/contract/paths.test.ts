import { expect } from 'chai'
import { listOperations, readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import type { ApiClient } from '../support/api-client.ts'
import type { TallyUnderTest } from '../support/tally-under-test.ts'
import { shareRequestWorld, TRIES, type World } from './requests.ts'

describe('paths of openapi.yaml', function () {
  this.timeout(60_000)
  const operations = listOperations(readOpenApiDocument()).filter(
    ({ operationId }) => TRIES[operationId]?.isForTests !== true,
  )
  const existing = new Set(operations.map(({ path }) => path))
  let tally: TallyUnderTest
  let api: ApiClient
  let world: World

  before(async () => {
    ;({ tally, api, world } = await shareRequestWorld())
  })
  after(() => tally.end())

  /** The answers of all operations when their paths are written in another way. */
  const answersTo = async (rewrite: (path: string) => string): Promise<string[]> =>
    Promise.all(
      operations.map(async ({ method, path, operationId }) => {
        const { target = '', body } = (await TRIES[operationId]?.good(world)) ?? {}
        const [given = '', query] = target.split('?')
        const rewritten = rewrite(given)
        if (existing.has(rewritten)) return `${path}: 404 not found`
        const to = query === undefined ? rewritten : `${rewritten}?${query}`
        const response = await fetch(tally.url + to, {
          method: method.toUpperCase(),
          headers: { 'x-api-key': tally.key, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        return `${path}: ${response.status} ${response.status === 404 ? await response.text() : ''}`
      }),
    )
  const allMissing = operations.map(({ path }) => `${path}: 404 not found`)

  it('are told from others by upper and lower case, as a proxy in front does', async () => {
    const upper = (letter: string) => letter.toUpperCase()
    expect(await answersTo((path) => path.replace(/[a-z]/, upper))).to.deep.equal(allMissing)
    // Another path has an id at the place of some of these words, so these are refused as wrong ids.
    const last = await answersTo((path) => path.replace(/\/[a-z-]+$/, (name) => name.toUpperCase()))
    expect(last.filter((answer) => / 2\d\d /.test(answer) && !answer.includes('}: '))).to.deep.equal([])
  })

  it('end with a slash where openapi.yaml has one, and nowhere else', async () => {
    expect(await answersTo((path) => `${path.replace(/\/$/, '')}/`)).to.deep.equal(allMissing)
    for (const path of ['/v2', '/v2/', '/v2/health', '/v2/health/'])
      expect((await api.get(path)).status, path).to.equal(200)
  })
})
