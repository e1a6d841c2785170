import { expect } from 'chai'
import { listOperations, readOpenApiDocument } from '../../../shared/http/openapi-document.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { ApiClient } from '../../support/api-client.ts'
import { namespaceOf, openPoolByHand } from '../../support/by-hand.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { type Item, LIST_CASES, type ListCase } from './list-cases.ts'

interface Page {
  data: Item[]
  has_more: boolean
}

/** The test files of the pages of other lists. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  listEvents: 'list-events.test.ts',
  listCurrencies: 'currencies.test.ts',
  listBalances: 'it has no pages',
  listEventRevisions: '../corrections.test.ts',
  listRefills: '../refill/refill-balances.test.ts, and list-plans.test.ts',
  listRates: 'rate-cards.test.ts, and list-plans.test.ts',
  listApiKeys: 'api-keys.test.ts',
  listContractLines: 'contracts.test.ts, and list-plans.test.ts',
  listInvoicePreviews: 'invoice-list.test.ts, and list-plans.test.ts',
  listAuditTrail: '../../contract/audit-trail.test.ts',
}

describe('lists of resources', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let pool: Pool

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    // Why not the role of the services: it may not change the creation time of a price.
    pool = openPoolByHand(tally.postgres.superuserUrl)
  })
  after(async () => {
    await pool.end()
    await tally.end()
  })

  const pageOf = async ({ target }: ListCase, query: Record<string, string>): Promise<Page> => {
    const url = new URL(target, 'http://x')
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const answer = await api.get<Page>(url.pathname + url.search)
    expect(answer.status, answer.text).to.equal(200)
    return answer.body
  }

  /** Reads a list to its end. @param between called after each page */
  const readAll = async (
    list: ListCase,
    limit: number,
    between?: () => Promise<unknown>,
  ): Promise<string[]> => {
    const cursors: string[] = []
    for (let hasMore = true; hasMore;) {
      const after = cursors.at(-1)
      const page = await pageOf(list, {
        limit: String(limit),
        ...(after === undefined ? {} : { starting_after: after }),
      })
      expect(page.data.length).to.be.at.most(limit)
      if (page.has_more) expect(page.data.length).to.equal(limit)
      cursors.push(...page.data.map(list.cursorOf))
      hasMore = page.has_more
      if (hasMore) await between?.()
    }
    return cursors
  }

  it('are all looked at here', () => {
    const paths = listOperations(readOpenApiDocument())
      .filter(({ operationId }) => operationId.startsWith('list') && !(operationId in ELSEWHERE))
      .map(({ path }) => path)
    expect(LIST_CASES.map(({ target }) => target.split('?')[0])).to.include.members(paths)
  })

  for (const list of LIST_CASES)
    describe(list.target, () => {
      it('holds every item once, in one order, whatever the size of a page', async () => {
        const made: string[] = []
        for (let n = 0; n < 9; n++) made.push(list.cursorOf(await list.make(api, n)))
        const whole = await readAll(list, 100)
        expect(whole).to.include.members(made)
        expect(new Set(whole).size).to.equal(whole.length)
        for (const limit of [1, 2, 4, 99])
          expect(await readAll(list, limit), String(limit)).to.deep.equal(whole)
        if (list.grows === 'at the end') expect(whole.slice(-9)).to.deep.equal(made)
        if (list.grows === 'at the start') expect(whole.slice(0, 9)).to.deep.equal(made.toReversed())
      })

      it('misses nothing and repeats nothing while items are added', async () => {
        const before = await readAll(list, 100)
        const added: string[] = []
        const add = async () => added.push(list.cursorOf(await list.make(api, added.length)))
        const size = Math.ceil(before.length / 5)
        // With pages of one item, reading would never end if an item were added at the end after each page.
        const read = await readAll(list, size, add)
        expect(added.length).to.be.at.least(3)
        expect(new Set(read).size).to.equal(read.length)
        expect(read.filter((cursor) => !added.includes(cursor))).to.deep.equal(before)
        if (list.grows === 'at the end') expect(read).to.deep.equal([...before, ...added])
        if (list.grows === 'at the start') expect(read).to.deep.equal(before)
      })

      const itIfFollowed = list.grows === 'at the end' ? it : () => undefined
      itIfFollowed('can be followed: after its last item come those that are added later', async () => {
        const last = (await readAll(list, 100)).at(-1) ?? ''
        expect(await pageOf(list, { starting_after: last })).to.deep.equal({ data: [], has_more: false })
        const added = await Promise.all([1, 2, 3, 4].map((n) => list.make(api, n)))
        const page = await pageOf(list, { starting_after: last })
        expect(page.data.map(list.cursorOf)).to.have.members(added.map(list.cursorOf))
      })

      it('orders items of the same time by their ids', async () => {
        const namespaceId = await namespaceOf(pool, tally.company)
        await pool.query(
          `UPDATE ${list.table} SET created_at = '2024-02-29', updated_at = '2024-02-29' WHERE namespace_id = $1`,
          [namespaceId],
        )
        const whole = await readAll(list, 100)
        for (const limit of [1, 3]) expect(await readAll(list, limit)).to.deep.equal(whole)
        expect(new Set(whole).size).to.equal(whole.length)
        const sorted = whole.toSorted()
        if (list.grows === 'at the end') expect(whole).to.deep.equal(sorted)
        if (list.grows === 'at the start') expect(whole).to.deep.equal(sorted.toReversed())
      })

      it('refuses pages that make no sense', async () => {
        const some = (await readAll(list, 100))[0] ?? ''
        const unknown = some.replace(/[0-9a-f]{12}$/, '0'.repeat(12))
        const join = list.target.includes('?') ? '&' : '?'
        for (const query of [
          'limit=0',
          'limit=101',
          'limit=1.5',
          'limit=-1',
          'limit=x',
          'limit=',
          'starting_after=',
          'starting_after=x',
          `starting_after=${unknown}`,
          `starting_after=${some}&starting_after=${some}`,
          'colour=red',
        ]) {
          const answer = await api.get(`${list.target}${join}${query}`)
          expect(answer.status, query).to.equal(400)
          expect(answer.text, query).to.match(/limit|starting_after|colour/)
        }
      })
    })
})
