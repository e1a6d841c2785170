import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { type TallyUnderTest } from '../support/tally-under-test.ts'
import { until } from '../support/until.ts'
import { type ConsoleWorld, shareConsole } from './console-world.ts'
import { closeBrowser, openTab, signIn, type WatchedPage } from './use-browser.ts'

const DAY_S = 86_400

describe('journeys through an account', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let browser: Browser
  let world: ConsoleWorld
  let tab: WatchedPage

  before(async function () {
    ;({ tally, browser, world } = await shareConsole(this))
  })
  after(async () => {
    await closeBrowser()
  })
  beforeEach(async () => {
    tab = await openTab(browser, tally.url)
  })
  afterEach(async () => {
    expect(tab.faults).to.deep.equal([])
    await tab.close()
  })

  const enter = async (path: string, key = tally.testKey) => {
    await tab.page.goto(`/console${path}`)
    await signIn(tab, key)
  }
  const now = () => Math.floor(Date.now() / 1_000)
  const panel = (heading: string) => tab.page.getByRole('region', { name: heading, exact: true })
  const makeAccount = (name: string) => world.api.create<{ id: string }>('/v2/accounts', { name })
  const report = (account: string, events: readonly object[]) =>
    world.api.create<{ event_ids: string[] }>('/v2/events/batch', {
      events: events.map((event) => ({ account_id: account, metric_id: world.metric, ...event })),
    })
  const awaitUsage = (account: string, total: string) =>
    until(async () => {
      const { body } = await world.api.get<{ usage_total: string }>(
        `/v2/accounts/${account}/balance?metric_id=${world.metric}`,
      )
      return body.usage_total === total
    })

  describe('what is read', () => {
    it('says so when balances in the list of accounts cannot be read', async () => {
      await tab.page.route(/accounts\/balances/, (route) =>
        route.fulfill({ status: 500, body: 'internal error' }),
      )
      await enter('/accounts')
      const { page } = tab
      const said = page.getByRole('alert').filter({ hasText: 'The balances cannot be read' })
      await said.waitFor()
      await page.unroute(/accounts\/balances/)
      await said.getByRole('button', { name: 'Try again' }).click()
      await said.waitFor({ state: 'detached' })
      await page
        .getByRole('cell', { name: /^-?\d[\d.]* tokens$/ })
        .first()
        .waitFor()
    })

    it('is as old as its oldest page', async () => {
      // Pages of two accounts, so that there are more.
      await tab.page.route(/\/v2\/accounts\?/, (route) =>
        route.continue({ url: route.request().url().replace('limit=100', 'limit=2') }),
      )
      await enter('/accounts')
      const { page } = tab
      await page.getByText('2 shown, there are more.').waitFor()
      await page.getByText(/as of [3-9] s ago/).waitFor()
      await page.getByRole('button', { name: 'More' }).click()
      await page.getByText('4 shown, there are more.').waitFor()
      expect(await page.locator('.panel__fresh').textContent()).to.match(/as of ([3-9]|\d\d) s ago/)
    })

    it('is read again after a grant: the refills, too, which have an age of their own', async () => {
      await enter(`/accounts/${world.account}`)
      const { page } = tab
      const refills = panel('Refills so far, Tokens')
      await refills.getByText('Nothing was refilled yet.').waitFor()
      await refills.getByText('as of').waitFor()
      await page.getByRole('button', { name: 'Grant', exact: true }).click()
      await page.getByLabel('Amount in tokens').fill('0.5')
      const again = page.waitForRequest(/\/refills\?/)
      await page.getByRole('button', { name: 'Grant it' }).click()
      await again
    })

    it('says how long a balance lasts by the days since its first usage', async () => {
      const { id } = await makeAccount('Young')
      await world.api.create('/v2/grants', {
        account_id: id,
        metric_id: world.metric,
        amount: '1000',
        effective_at: 0,
      })
      const noon = now() - (now() % DAY_S) - DAY_S / 2
      await report(id, [
        { quantity: '100', occurred_at: noon },
        { quantity: '300', occurred_at: noon - DAY_S },
      ])
      await awaitUsage(id, '400')
      await enter(`/accounts/${id}`)
      // 600 are left, 400 were used in two days.
      await tab.page
        .getByText(/lasts about 3 days, at the mean of the 2 whole days since its first usage/)
        .waitFor()
    })
  })
})
