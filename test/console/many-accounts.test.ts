import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import type { SchemaOf } from '../../shared/http/operation.ts'
import { simulatePricesWith } from '../clients/core/run-program.ts'
import { ApiClient } from '../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { closeBrowser, openTab, signIn, useBrowser, type WatchedPage } from './use-browser.ts'

const ACCOUNTS = 10_000
const [BATCH, AT_ONCE] = [500, 20]
const DAY_S = 86_400

interface Named {
  id: string
}

/** Makes accounts with usage of last month, from little to much, and a card of one price. */
async function makeManyAccounts(api: ApiClient): Promise<string> {
  const metric = (await api.create<Named>('/v2/metrics', { name: 'Calls' })).id
  const date = new Date()
  const month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1, 1) / 1_000
  for (let made = 0; made < ACCOUNTS; made += BATCH) {
    const accounts: string[] = []
    for (let at = 0; at < BATCH; at += AT_ONCE)
      accounts.push(
        ...(await Promise.all(
          Array.from({ length: AT_ONCE }, async (_, index) => {
            const name = `Account ${made + at + index}`
            return (await api.create<Named>('/v2/accounts', { name })).id
          }),
        )),
      )
    const events = accounts.map((account_id, index) => {
      const nth = made + index
      const quantity = `${(nth * 7_919) % 5_003}.${nth % 10}`
      return {
        account_id,
        metric_id: metric,
        quantity,
        occurred_at: month + DAY_S,
        idempotency_key: `${nth}`,
      }
    })
    await api.create('/v2/events/batch', { events })
  }
  await api.create('/v2/test/drain', { timeout: 20 })
  const product_id = (await api.create<Named>('/v2/products', { name: 'Calls' })).id
  const price = async (terms: object) =>
    (await api.create<Named>('/v2/prices', { product_id, currency: 'usd', ...terms })).id
  const card = async (external_id: string, price_id: string) =>
    (
      await api.create<Named>('/v2/rate-cards', {
        ...{ name: external_id, external_id, currency: 'usd', rates: [{ metric_id: metric, price_id }] },
      })
    ).id
  const old = await card('old', await price({ model: 'per_unit', unit_amount: '0.01' }))
  const tiers = [
    { up_to: '1000', unit_amount: '0.012' },
    { up_to: null, unit_amount: '0.006' },
  ]
  await card('new', await price({ model: 'graduated', tiers }))
  return old
}

describe('a simulation of 10,000 accounts in the console', function () {
  this.timeout(400_000)
  let tally: TallyUnderTest
  let browser: Browser
  let tab: WatchedPage
  let old: string

  before(async function () {
    browser = await useBrowser(this)
    tally = await shareTallyUnderTest()
    old = await makeManyAccounts(new ApiClient(tally.url, tally.testKey))
    tab = await openTab(browser, tally.url)
  })
  after(async () => {
    await closeBrowser()
  })

  /** The texts of a column of a table. */
  const column = async (caption: string, index: number) => {
    const cells = tab.page.getByRole('table', { name: caption }).locator(`tbody td:nth-child(${index})`)
    return (await cells.allTextContents()).map((text) => text.trim())
  }

  it('says what the command says, and reads every account, which can be stopped', async () => {
    const { page } = tab
    await page.goto('/console/billing/rate-cards')
    await signIn(tab, tally.testKey)
    await page.getByRole('link', { name: 'new' }).click()
    await page.getByRole('link', { name: 'Simulate this card' }).click()
    await page.getByLabel('Against').selectOption(old)
    await page.getByRole('button', { name: 'Simulate' }).click()
    await page.getByRole('heading', { name: 'Where the differences lie' }).waitFor({ timeout: 60_000 })
    const { out } = await simulatePricesWith(
      ['--url', tally.url, '--card', 'new', '--against', 'old', '--json'],
      { env: { TALLY_API_KEY: tally.testKey } },
    )
    const { totals } = JSON.parse(out) as { totals: SchemaOf<'SimulationTotals'> }
    expect(totals.accounts).to.equal(ACCOUNTS)
    const { p5, p25, p50, p75, p95 } = totals.quantiles
    expect(
      (await column('Differences of accounts', 2)).map((text) => text.replace(/^\+| usd$/g, '')),
    ).to.deep.equal([p5, p25, p50, p75, p95])
    const figures = await page.locator('.figures dd').allTextContents()
    expect(figures.slice(0, 3)).to.deep.equal([
      ACCOUNTS.toString(),
      `${totals.baseline} usd`,
      `${totals.candidate} usd`,
    ])
    expect(figures[3]).to.match(new RegExp(`^${totals.difference.replace('.', '\\.')} usd`))
    for (const [caption, accounts] of [
      ['Who would pay most more', totals.largest.increases],
      ['Who would pay most less', totals.largest.decreases],
    ] as const)
      expect(await column(caption, 3)).to.deep.equal(accounts.map(({ candidate }) => `${candidate} usd`))
    await page.getByRole('button', { name: 'All accounts' }).click()
    await page.getByText(`of ${ACCOUNTS}`).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'All accounts' }).click()
    await page.getByRole('button', { name: `CSV of ${ACCOUNTS} accounts` }).waitFor({ timeout: 200_000 })
    expect(tab.faults).to.deep.equal([])
  })
})
