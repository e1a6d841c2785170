import { expect } from 'chai'
import { instantParameter } from '../../console/src/format/period.ts'
import { until } from '../support/until.ts'
import { makeConsoleWorld } from './console-world.ts'
import { useConsole } from './use-console.ts'
import { keyboardOf } from './use-keyboard.ts'

describe('the console by keyboard alone', function () {
  this.timeout(120_000)
  const site = useConsole(makeConsoleWorld)
  const keys = keyboardOf(() => site.page)
  const button = (name: string | RegExp) =>
    site.page.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name })
  const heading = (name: string) => site.page.getByRole('heading', { name })
  const dialog = () => site.page.getByRole('dialog')

  /** Opens a page, and signs in by typing the key. The focus is then on the heading of the page. */
  const enter = async (path: string, name: string, key = site.tally.testKey) => {
    await site.page.goto(`/console${path}`)
    await site.page.getByLabel('API key').waitFor()
    await keys.seeFocus()
    await site.page.keyboard.type(key)
    await arriveAt(name, () => site.page.keyboard.press('Enter'))
  }
  const arriveAt = async (name: string, act: () => Promise<void>) => {
    await act()
    await site.page.getByRole('heading', { level: 1, name }).waitFor()
    await keys.seeFocus()
    expect(await keys.hasFocus(site.page.locator('h1'))).to.equal(true)
  }

  it('first steps: makes what is needed, sends an event, sees the balance fall, and signs out', async () => {
    const { page } = site
    await enter('/start', 'First steps', site.tally.key)
    await keys.use(button('Make them for me'))
    await heading('Send an event').waitFor()
    await keys.seeFocus()
    await keys.tabTo(page.getByRole('radio', { name: 'curl' }))
    await keys.press('ArrowRight')
    await page.getByText('process.env.TALLY_KEY').waitFor()
    await keys.use(button('Send one from here'), 'Space')
    await heading('The balance fell').waitFor()
    await keys.seeFocus()
    expect(await keys.hasFocus(button('Send one from here'))).to.equal(true)
    await keys.tabTo(page.getByTitle('Copy this', { exact: true }), 'Shift+Tab')
    await keys.tabTo(page.getByRole('link', { name: 'See the account' }))
    await arriveAt('Try it', () => keys.press('Enter'))
    await keys.tabTo(page.getByTitle('Company and key').and(page.getByRole('button')), 'Shift+Tab')
    await keys.press('Enter')
    await keys.press('Escape')
    await keys.press('Enter')
    await keys.use(button('Sign out'))
    await page.getByLabel('API key').waitFor()
    await keys.seeFocus()
    expect(await keys.hasFocus(page.getByLabel('API key'))).to.equal(true)
  })

  it('support: from an external id to who changed what, and corrects it', async () => {
    const { page } = site
    await enter('/accounts', 'Accounts')
    await page.keyboard.press('/')
    await page.keyboard.type('beta-support')
    await page.getByRole('link', { name: 'Beta support account' }).waitFor()
    await keys.press('ArrowDown')
    await arriveAt('Beta support', () => page.keyboard.press('Enter'))
    await keys.tabTo(page.getByRole('application', { name: /^Balance/ }))
    await keys.press('End')
    for (let day = 0; day < 3; day++) await keys.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await page.getByRole('table', { name: /^Events/ }).waitFor()
    await keys.seeFocus()
    const event = page.getByRole('row').filter({ hasText: 'corrected' }).getByRole('button').first()
    await keys.use(event)
    await dialog().getByText('Correction 2').waitFor()
    await keys.use(dialog().getByRole('button', { name: 'Correct', exact: true }))
    expect(await keys.hasFocus(page.getByLabel('Quantity in tokens'))).to.equal(true)
    await keys.type('200.125')
    await page.keyboard.press('Enter')
    // 10000 - (1900.5 + 200.125 + 7 + 1.25)
    await dialog().getByText('It is 7891.125 tokens.').waitFor()
    await dialog().getByText('Correction 3').waitFor()
    await keys.seeFocus()
    expect(await keys.hasFocus(dialog().getByRole('button', { name: 'Correct', exact: true }))).to.equal(true)
    await keys.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    expect(await keys.hasFocus(event)).to.equal(true)
  })

  it('support: chooses days and a property', async () => {
    const { page } = site
    await enter(`/accounts/${site.world.support.account}/events`, 'Beta support')
    const first = page.getByLabel('First day, UTC')
    await keys.tabTo(first)
    await keys.type(site.world.support.day)
    await keys.press('Enter')
    await until(() => Promise.resolve(page.url().includes(`from=${site.world.support.day}`)))
    await keys.seeFocus()
    expect(await keys.hasFocus(first)).to.equal(true)
    await keys.tabTo(page.getByRole('group', { name: 'Range' }).getByRole('radio'), 'Shift+Tab')
    await page.keyboard.press('ArrowRight')
    await until(() => Promise.resolve(!page.url().includes(`from=${site.world.support.day}&`)))
    await keys.seeFocus()
    await keys.use(page.getByRole('button', { name: 'Only region = eu' }).first())
    await button('All events').waitFor()
    await keys.seeFocus()
    await keys.use(button('All events'))
    await button('All events').waitFor({ state: 'detached' })
    await keys.seeFocus()
  })

  it('finance: a preview, as it was known, and what came since', async () => {
    const { page } = site
    const { month } = site.world
    await enter(`/billing/invoices?at=${instantParameter(month)}`, 'Invoice previews')
    await keys.tabTo(page.getByRole('link', { name: 'Globex' }))
    await arriveAt('Invoice preview, Globex 2026', () => keys.press('Enter'))
    await keys.use(page.locator('.invoice__head').first())
    await page.locator('.steps-of__step').first().waitFor()
    await keys.tabTo(page.getByText('As of another time, as it was known'), 'Shift+Tab')
    await keys.press('Enter')
    await keys.tabTo(page.getByLabel('Known at, UTC'))
    await keys.type(instantParameter(Math.floor(Date.now() / 1_000) - 60))
    await keys.press('Enter')
    await page.getByText('As it was known at').waitFor()
    await keys.seeFocus()
    await keys.use(button('What came since?'))
    await heading('Events that came, or changed').waitFor()
    await keys.seeFocus()
    await page.getByRole('heading', { name: /^Due is/ }).waitFor()
  })

  it('a key: made, seen once, and left by hand', async () => {
    const { page } = site
    await enter('/keys', 'Keys')
    await keys.use(button('New key'))
    expect(await keys.hasFocus(page.getByRole('textbox', { name: 'Name' }))).to.equal(true)
    await keys.type('by keyboard')
    await keys.use(page.getByRole('checkbox', { name: /^write:all/ }), 'Space')
    await keys.use(button('Make the key'))
    await button('I have the key').waitFor()
    await keys.seeFocus()
    await keys.press('Escape')
    await page.getByText('After this the key cannot be seen again.').waitFor()
    await keys.use(button('I have the key'))
    await dialog().waitFor({ state: 'detached' })
    expect(await keys.hasFocus(button('New key'))).to.equal(true)
    await page
      .getByRole('row', { name: /by keyboard/ })
      .getByText('write')
      .waitFor()
  })

  it('a form that the server refuses, and that is left', async () => {
    const { page } = site
    await enter('/metrics', 'Metrics')
    await keys.use(button('New metric'))
    await keys.type('Taken')
    await keys.tabTo(page.getByLabel('Unit'))
    await keys.type('GB')
    await keys.tabTo(page.getByLabel('External id'))
    await keys.type('requests')
    await keys.use(button('Make the metric'))
    await page.getByText('external_id: ').waitFor() // another metric has it
    await keys.seeFocus()
    expect(await keys.hasFocus(button('Make the metric'))).to.equal(true)
    await keys.press('Escape')
    await page.getByText('What you typed is not saved.').waitFor()
    await keys.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    expect(await keys.hasFocus(button('New metric'))).to.equal(true)
  })

  it('a simulation: chosen, stopped, and asked for again', async () => {
    const { page } = site
    await enter(`/billing/rate-cards/${site.world.prices.card}/simulate`, 'Simulation')
    await page.route(/\/simulate$/, () => undefined) // as one that takes long
    await keys.tabTo(page.getByLabel('Against'))
    await keys.press('ArrowDown')
    expect(new URL(page.url()).searchParams.get('against')).to.equal('none')
    const ended = page.waitForEvent('requestfailed')
    await keys.use(button('Simulate'))
    await keys.use(button('Stop'))
    expect((await ended).failure()?.errorText).to.equal('net::ERR_ABORTED')
    await button('Stop').waitFor({ state: 'detached' })
    await keys.seeFocus()
    await page.unroute(/\/simulate$/)
    await keys.use(button('Simulate'))
    await heading('Where the differences lie').waitFor()
    await keys.seeFocus()
  })
})
