import { expect } from 'chai'
import { sortNameOf } from '../../../shared/domain/sort-name.ts'
import { accountRepository } from '../../../shared/postgres/accounts.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { ApiClient } from '../../support/api-client.ts'
import { namespaceOf, openPoolByHand } from '../../support/by-hand.ts'
import { explaining } from '../../support/explaining.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { type MadeAccount, makeManyAccounts } from './many-accounts.ts'

interface Listed {
  data: { id: string; name: string }[]
  has_more: boolean
}

const ACCOUNTS = 100_000
const PAGE = 100
const REPEATS = 25

/** The number of accounts with the sort key of their customer, and the number of those with the new name. */
const PLACES = `
  SELECT CASE WHEN customer_sort_name = '0\u{1f3c1} last' THEN 'flag' ELSE 'elsewhere' END AS at, count(*) FROM accounts a
  LEFT JOIN customers c USING (namespace_id, customer_id)
  WHERE a.customer_sort_name = coalesce('0' || c.sort_name, '1')
  GROUP BY at ORDER BY at`

describe(`${ACCOUNTS} accounts by customer name`, function () {
  this.timeout(180_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let pool: Pool
  let namespaceId: string
  let made: Awaited<ReturnType<typeof makeManyAccounts>>
  /** Ids in the order of the list. */
  const listed: string[] = []

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    pool = openPoolByHand(tally.postgres.serviceUrl)
    namespaceId = await namespaceOf(pool, tally.company)
    made = await makeManyAccounts(pool, namespaceId, ACCOUNTS)
    // As autovacuum does within a minute. Until then a company that was small looks as if it had one account, and any
    // index that begins with the company seems right to find it by.
    const owner = openPoolByHand(tally.postgres.superuserUrl)
    await owner.query('ANALYZE accounts, customers')
    await owner.end()
  })
  after(async () => {
    await pool.end()
    await tally.end()
  })

  const pageAfter = async (id: string | undefined): Promise<Listed> => {
    const cursor = id === undefined ? '' : `&starting_after=${id}`
    const page = await api.get<Listed>(`/v2/accounts?sort=customer_name&limit=${PAGE}${cursor}`)
    expect(page.status, page.text).to.equal(200)
    return page.body
  }

  it('are listed page by page, each once, in order, none missed', async function () {
    const times: number[] = []
    for (let hasMore = true; hasMore;) {
      const start = performance.now()
      const page = await pageAfter(listed.at(-1))
      times.push(performance.now() - start)
      listed.push(...page.data.map(({ id }) => id))
      hasMore = page.has_more
    }
    expect(listed.length).to.equal(ACCOUNTS)
    expect(new Set(listed).size).to.equal(ACCOUNTS)
    const byId = new Map(made.accounts.map((account) => [account.id, account]))
    const keys = listed.map((id) => sortKeyOf(byId.get(id) as MadeAccount))
    const wrong = keys.findIndex((key, n) => n > 0 && Buffer.compare(keys[n - 1] as Buffer, key) >= 0)
    expect(wrong, 'the first account that stands after a later one').to.equal(-1)
    const sorted = times.sort((a, b) => a - b)
    if (this.test !== undefined)
      this.test.title += `: a page took ${quantile(sorted, 0.5)} ms, ${quantile(sorted, 0.99)} at the 99th percentile`
  })

  it('come from the index alone, on the first page and on the last', async () => {
    await inNamespace(pool, namespaceId, async (client) => {
      const { db, plans } = explaining(client)
      for (const startingAfter of [undefined, listed[ACCOUNTS / 2], listed[ACCOUNTS - PAGE - 2]])
        await accountRepository(db).list(namespaceId, 'customer_name', {}, { limit: PAGE, startingAfter })
      const pages = plans.filter((steps) => steps[0]?.['Node Type'] === 'Limit')
      expect(pages.length).to.equal(3)
      for (const steps of pages) {
        const read = steps.filter((step) => step['Index Name'] !== undefined)
        const [page] = read.filter((step) => step['Index Name'] === 'accounts_by_customer_name')
        expect(page).to.include({ 'Node Type': 'Index Scan', 'Actual Rows': PAGE + 1 })
        expect(steps.map((step) => step['Rows Removed by Filter'] ?? 0)).to.deep.equal(steps.map(() => 0))
        expect(steps.map((step) => step['Node Type'])).not.to.include.members(['Sort'])
        // The steps except the page itself read the account after which it starts.
        for (const step of read.filter((other) => other !== page))
          expect(step).to.include({ 'Index Name': 'accounts_pkey', 'Actual Rows': 1 })
      }
    })
  })

  it('take as long on the last page as on the first', async function () {
    const first: number[] = []
    const last: number[] = []
    for (let n = 0; n < REPEATS; n++)
      for (const [times, cursor] of [
        [first, undefined],
        [last, listed[ACCOUNTS - PAGE - 1]],
      ] as const) {
        const start = performance.now()
        const page = await pageAfter(cursor)
        times.push(performance.now() - start)
        expect(page.data.length).to.equal(PAGE)
      }
    const [a, b] = [first, last].map((times) =>
      quantile(
        times.sort((x, y) => x - y),
        0.5,
      ),
    ) as [number, number]
    if (this.test !== undefined) this.test.title += `: ${a} ms and ${b} ms`
    expect(Math.max(a, b) / Math.min(a, b)).to.be.below(3)
  })

  it('follow a customer with a fifth of them to its new name', async function () {
    const { largest } = made
    const rename = async (name: string) => {
      const start = performance.now()
      const answer = await api.patch<{ name: string }>(`/v2/customers/${largest.id}`, { name })
      expect(answer.status, answer.text).to.equal(200)
      return Math.round(performance.now() - start)
    }
    const took = await rename('\u{1f3c1} Last')
    const inCase = await rename('\u{1f3c1} last')
    if (this.test !== undefined) this.test.title += `: ${took} ms, and ${inCase} ms when only case changes`
    const { rows } = await inNamespace(pool, namespaceId, (db) =>
      db.query<{ at: string; count: string }>(PLACES),
    )
    expect(rows.map(({ at, count }) => [at, Number(count)])).to.deep.equal([
      ['elsewhere', ACCOUNTS - ACCOUNTS / 5],
      ['flag', ACCOUNTS / 5],
    ])
  })
})

/** The sort key of an account as bytes, which compare like accounts. */
function sortKeyOf({ id, name, customerName }: MadeAccount): Buffer {
  const customer = customerName === null ? '1' : `0${sortNameOf(customerName)}`
  return Buffer.from(`${customer}\0${sortNameOf(name)}\0${id}`)
}

/** The quantile of sorted times, rounded to a tenth. */
const quantile = (sorted: readonly number[], q: number): number =>
  Math.round((sorted[Math.floor((sorted.length - 1) * q)] ?? 0) * 10) / 10
