import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import path from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { ApiClient } from '../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { closeBrowser, useBrowser } from './use-browser.ts'

const DAY_S = 86_400
const today = Math.floor(Date.now() / 1_000 / DAY_S) * DAY_S
const LINES_MAX = 40

/** The page that docs/guides/portal.md shows, on another origin than Tally. */
describe('a page of a company for its customers', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let browser: Browser
  let page: Page
  let server: Server
  let html: string
  /** What the company's server gives to the page. */
  let given: { url: string; key: string; account_id: string; metric_id: string }
  let stranger: string

  before(async function () {
    browser = await useBrowser(this)
    const guide = await readFile(path.join(PROJECT_ROOT, 'docs/guides/portal.md'), 'utf8')
    html = /<!-- portal -->\n\n```html\n([^]*?)```/.exec(guide)?.[1] ?? ''
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.testKey)
    const create = async (target: string, body: object) => (await api.create<{ id: string }>(target, body)).id
    const metric = await create('/v2/metrics', { name: 'tokens' })
    const account = await create('/v2/accounts', { name: 'ours' })
    stranger = await create('/v2/accounts', { name: 'theirs' })
    for (const [of, amount] of [
      [account, '10'],
      [stranger, '7000000'],
    ] as const)
      await create('/v2/grants', { account_id: of, metric_id: metric, amount, effective_at: 0 })
    const used = (of: string, quantity: string, daysAgo: number) => ({
      account_id: of,
      metric_id: metric,
      quantity,
      occurred_at: today - daysAgo * DAY_S,
    })
    const events = [
      used(account, '1.5', 0),
      used(account, '0.000000000000000001', 2),
      used(stranger, '700', 0),
    ]
    await api.create('/v2/events/batch', { events })
    await api.create('/v2/test/drain', { timeout: 20 })
    given = { url: tally.url, key: await accountKey(account), account_id: account, metric_id: metric }
    server = createServer((req, res) => {
      const isPage = req.url === '/'
      res.setHeader('content-type', isPage ? 'text/html' : 'application/json')
      res.end(isPage ? html : JSON.stringify(given))
    }).listen(Number(new URL(tally.pageOrigin).port), '127.0.0.1')
    await once(server, 'listening')
  })
  after(async () => {
    ;(server as Server | undefined)?.close()
    await closeBrowser()
  })
  beforeEach(async () => {
    page = await browser.newPage()
  })
  afterEach(async () => {
    await page.close()
  })

  const accountKey = async (account: string): Promise<string> => {
    const terms = { account_id: account, permissions: ['read:account'], expires_at: today + 2 * DAY_S }
    return (await api.create<{ key: string }>('/v2/api-keys', { name: 'portal', ...terms })).key
  }
  const open = async (changed: Partial<typeof given>) => {
    given = { ...given, ...changed }
    await page.goto(`${tally.pageOrigin}/`)
  }
  const problem = async (text: string) => page.locator('#problem', { hasText: text }).waitFor()
  const shown = () => page.locator('body').innerText()

  it('takes 40 lines', () => {
    expect(html.trimEnd().split('\n').length).to.be.within(20, LINES_MAX)
  })

  it('shows the balance and the usage by day of the account of its key', async () => {
    await open({})
    await page.locator('#balance', { hasText: '8.499999999999999999' }).waitFor()
    const rows = page.locator('tr:has(td)')
    await rows.nth(29).waitFor()
    const cells = await rows.allInnerTexts()
    expect(cells).to.have.length(30)
    const day = (daysAgo: number) => new Date((today - daysAgo * DAY_S) * 1_000).toISOString().slice(0, 10)
    expect(cells.slice(-3)).to.deep.equal([
      `${day(2)}\t0.000000000000000001`,
      `${day(1)}\t0`,
      `${day(0)}\t1.5`,
    ])
    expect(await shown()).to.not.contain('700')
  })

  it('gets 404 for every other account', async () => {
    for (const account_id of [stranger, `account_${'0'.repeat(32)}`]) {
      await open({ account_id })
      await problem('404 not found')
      expect(await page.locator('td').count()).to.equal(0)
      expect(await shown()).to.not.contain('700')
    }
  })

  it('says that its key has ended, and reads nothing with a key of the company', async () => {
    await open({ key: 'tally_test_ended' })
    await problem('401 Invalid API key')
    await open({ key: tally.testKey })
    await problem('Failed to fetch')
  })
})
