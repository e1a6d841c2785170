import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import type { SchemaOf } from '../../shared/http/operation.ts'
import { simulatePricesWith } from '../clients/core/run-program.ts'
import { ApiClient } from '../support/api-client.ts'
import { tell } from '../support/fault-seed.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { until } from '../support/until.ts'
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

const SEARCHES = 20
/** How long typing rests before Tally is asked. */
const REST_MS = 150
/** The most that a search may take after the rest, and the most that a task of the page may take, in milliseconds. */
const [SEARCH_MS_MAX, TASK_MS_MAX] = [200, 200]
const SHOWN = 1_000

/** Types a name into the search of the page. @returns an expression that waits until only its row is there, in ms */
const searchFor = (name: string): string => `new Promise((resolve) => {
  const field = document.querySelector('input[aria-label="Search accounts"]')
  const typed = performance.now()
  new MutationObserver((changes, observer) => {
    const rows = document.querySelectorAll('tbody tr')
    if (rows.length !== 1 || rows[0].querySelector('a').textContent !== ${JSON.stringify(name)}) return
    observer.disconnect()
    resolve(performance.now() - typed)
  }).observe(document.body, { subtree: true, childList: true, characterData: true })
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, ${JSON.stringify(name)})
  field.dispatchEvent(new Event('input', { bubbles: true }))
})`

interface TraceEvent {
  name: string
  pid: number
  tid: number
  /** The time on the clock and that of the processor, in microseconds. */
  dur?: number
  tdur?: number
  args?: { name?: string }
}

/** The longest task of the page's thread: by the clock, and by the processor, which others on the machine do not lengthen. */
function longestTask(trace: Buffer): { clockMs: number; processorMs: number } {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] }
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const named = traceEvents.filter(
    ({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain',
  )
  const threads = new Set(named.map(threadOf))
  const tasks = traceEvents.filter((event) => event.name.endsWith('RunTask') && threads.has(threadOf(event)))
  const most = (of: (task: TraceEvent) => number) =>
    tasks.reduce((longest, task) => Math.max(longest, of(task)), 0) / 1_000
  return { clockMs: most(({ dur = 0 }) => dur), processorMs: most(({ tdur = 0 }) => tdur) }
}

describe('the console of a company with 10,000 accounts', function () {
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
    await tab.page.goto('/console/accounts')
    await signIn(tab, tally.testKey)
    await tab.page.getByText('100 shown, there are more.').waitFor()
  })
  after(async () => {
    await closeBrowser()
  })

  /** The texts of a column of a table. */
  const column = async (caption: string, index: number) => {
    const cells = tab.page.getByRole('table', { name: caption }).locator(`tbody td:nth-child(${index})`)
    return (await cells.allTextContents()).map((text) => text.trim())
  }

  it('simulates as the command does, and reads every account, which can be stopped', async () => {
    const { page } = tab
    await page.goto('/console/billing/rate-cards')
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

  it('finds an account while it is typed', async () => {
    const { page, context } = tab
    await page.goto('/console/accounts')
    await page.getByText('100 shown, there are more.').waitFor()
    const session = await context.newCDPSession(page)
    await session.send('Performance.enable', { timeDomain: 'threadTicks' })
    const processorMs = async () => {
      const { metrics } = await session.send('Performance.getMetrics')
      return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN) * 1_000
    }
    const before = await processorMs()
    const took: number[] = []
    for (let search = 0; search < SEARCHES; search++)
      took.push((await page.evaluate<number>(searchFor(`Account ${1_000 + search * 431}`))) - REST_MS)
    const worked = ((await processorMs()) - before) / SEARCHES
    took.sort((a, b) => a - b)
    const median = took[SEARCHES / 2] ?? NaN
    tell(`a search: median ${median.toFixed()} ms, ${worked.toFixed()} ms of the page's processor`)
    expect(median).to.be.below(SEARCH_MS_MAX)
    expect(worked).to.be.below(SEARCH_MS_MAX)
  })

  it('scrolls through 1,000 accounts without a long task', async () => {
    const { page } = tab
    await page.goto('/console/accounts')
    for (let shown = 100; shown < SHOWN; shown += 100) {
      await page.getByText(`${shown} shown, there are more.`).waitFor()
      await page.getByRole('button', { name: 'More', exact: true }).click()
    }
    await page.getByText(`${SHOWN} shown, there are more.`).waitFor()
    await page.evaluate('scrollTo(0, 0)')
    await page.mouse.move(700, 500)
    await browser.startTracing(page, { categories: ['toplevel'] })
    for (let turn = 0; turn < 80; turn++) await page.mouse.wheel(0, 600)
    await until(() => page.evaluate<boolean>('scrollY > 20_000'))
    const { clockMs, processorMs } = longestTask(await browser.stopTracing())
    tell(`the longest task: ${clockMs.toFixed()} ms, ${processorMs.toFixed()} ms of the processor`)
    // By the processor: what else the machine does is not the page's.
    expect(processorMs).to.be.within(0.1, TASK_MS_MAX)
    expect(tab.faults).to.deep.equal([])
  })
})
