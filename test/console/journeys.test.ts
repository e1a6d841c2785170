import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { until } from '../support/until.ts'
import { makeBaseWorld } from './console-world.ts'
import { HOSTILE } from './hostile-texts.ts'
import { signIn } from './use-browser.ts'
import { useConsole } from './use-console.ts'

describe('journeys through the console', function () {
  this.timeout(120_000)
  const site = useConsole(makeBaseWorld)
  const { enter } = site
  /** Everything that the tab keeps, and everything that it shows. */
  const remains = () =>
    site.page.evaluate<string>(
      'JSON.stringify({ ...sessionStorage }) + JSON.stringify({ ...localStorage }) + document.documentElement.outerHTML + document.cookie',
    )

  describe('the key', () => {
    it('is asked for, refused in the words of the server, and leads to where one came from', async () => {
      await site.page.goto(`/console/accounts/${site.world.account}?source=usd`)
      await signIn(site.tab, 'wrong')
      await site.page.getByRole('alert').getByText('(401)').waitFor()
      await signIn(site.tab, site.tally.testKey)
      await site.page.getByRole('heading', { level: 1, name: 'Acme production' }).waitFor()
      expect(new URL(site.page.url()).search).to.equal('?source=usd')
    })

    it('stays in its tab: not in the address, nor in what tabs share', async () => {
      await enter('/accounts')
      await site.page.getByText('Acme production').waitFor()
      const shared = 'JSON.stringify({ ...localStorage }) + document.cookie + location.href'
      expect(await site.page.evaluate<string>(shared)).to.not.include(site.tally.testKey)
      expect(await site.page.evaluate<string>('JSON.stringify({ ...sessionStorage })')).to.include(
        site.tally.testKey,
      )
      const other = await site.tab.context.newPage()
      await other.goto('/console/accounts')
      await other.getByLabel('API key').waitFor()
    })

    it('goes along to a tab that a link opens', async () => {
      await enter('/accounts')
      const [opened] = await Promise.all([
        site.tab.context.waitForEvent('page'),
        site.page.getByRole('link', { name: 'Acme production' }).click({ modifiers: ['Control'] }),
      ])
      await opened.getByRole('heading', { level: 1, name: 'Acme production' }).waitFor()
    })

    it('is forgotten in all tabs by signing out', async () => {
      await enter('/accounts')
      const [opened] = await Promise.all([
        site.tab.context.waitForEvent('page'),
        site.page.getByRole('link', { name: 'Acme production' }).click({ modifiers: ['Control'] }),
      ])
      await opened.getByRole('heading', { level: 1, name: 'Acme production' }).waitFor()
      await site.page.getByTitle('Company and key').click()
      await site.page.getByRole('button', { name: 'Sign out' }).click()
      await site.page.getByLabel('API key').waitFor()
      await opened.getByLabel('API key').waitFor()
      expect(await remains()).to.not.include(site.tally.testKey)
    })

    it('ends everywhere once it is revoked, and nothing of the company stays', async () => {
      const issued = await site.test.create<{ key: string; api_key: { id: string } }>('/v2/api-keys', {
        name: 'short',
        permissions: ['read:all'],
      })
      await enter('/accounts', issued.key)
      await site.page.getByText('Acme production').waitFor()
      await site.test.create(`/v2/api-keys/${issued.api_key.id}/revoke`, {})
      await site.page.getByText('This key is not valid any more').waitFor({ timeout: 12_000 })
      expect(await remains()).to.not.match(/Acme|acme-prod/)
      expect(await remains()).to.not.include(issued.key)
      // A page that is shown before Tally has answered would be one that was kept.
      let answer = (): void => undefined
      const held = new Promise<void>((resolve) => {
        answer = resolve
      })
      await site.page.route(/\/v2\/accounts/, async (route) => {
        await held
        await route.continue()
      })
      await signIn(site.tab, site.tally.testKey)
      await site.page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor()
      expect(await site.page.getByText('Acme production').count()).to.equal(0)
      answer()
      await site.page.getByText('Acme production').waitFor()
    })

    it('that may only read sees no button that writes', async () => {
      const { key } = await site.test.create<{ key: string }>('/v2/api-keys', {
        name: 'reader',
        permissions: ['read:all'],
      })
      await enter(`/accounts/${site.world.account}`, key)
      await site.page.getByText('The yearly credit').waitFor()
      for (const name of ['Grant', 'Grant in a currency', 'Void', 'Archive', 'Change', 'Pause'])
        expect(await site.page.getByRole('button', { name, exact: true }).count(), name).to.equal(0)
    })
  })

  describe('an account', () => {
    it('is found by its external id, with the keyboard alone', async () => {
      await enter('/accounts')
      const { page } = site
      await page.getByText('Acme production').waitFor()
      await page.keyboard.press('/')
      await page.keyboard.type('acme-prod')
      await page.getByRole('link', { name: 'Acme production account' }).waitFor()
      // While it is typed, the list has others too.
      const found = page.getByRole('list', { name: 'Found' }).getByRole('link')
      await until(async () => (await found.count()) === 1)
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Acme production' }).waitFor()
      expect(await page.evaluate('document.activeElement.tagName')).to.equal('H1')
      expect(await page.title()).to.equal('Acme production · Tally')
    })

    it('is found by a part of its name or of its customer, and the search stands in the address', async () => {
      await enter('/accounts')
      const { page } = site
      await page.getByText('evil').waitFor()
      await page.getByRole('searchbox').fill('acme PROD')
      await page.getByText('evil').waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'Acme production' }).waitFor()
      expect(page.url()).to.match(/\?query=acme\+PROD$/)
      await page.getByRole('searchbox').fill('Acme Ltd')
      await page.getByText('evil').waitFor()
      await page.getByRole('link', { name: 'Bare' }).waitFor({ state: 'detached' })
    })

    it('is not said to be missing by the answer to an earlier search', async () => {
      await enter('/accounts?query=nobody')
      const { page } = site
      const nothing = page.getByText('Nothing found for')
      await nothing.waitFor()
      let letGo = () => {}
      const released = new Promise<void>((resolve) => (letGo = resolve))
      await page.route(/query=acme/, (route) => released.then(() => route.continue()))
      const asked = page.waitForRequest(/query=acme/)
      await page.getByRole('searchbox').fill('acme-prod')
      await asked
      await nothing.waitFor({ state: 'detached' })
      letGo()
      await page.getByRole('link', { name: 'Acme production' }).waitFor()
      await page.getByRole('heading', { level: 2, name: 'Accounts found' }).waitFor()
    })

    it('has a balance at the end of each day, down to the one of now', async () => {
      await enter(`/accounts/${site.world.account}`)
      const { page } = site
      const now = await page.locator('.balance__value').first().textContent()
      await page.getByRole('application', { name: /^Balance/ }).focus()
      await page.keyboard.press('End')
      const today = new Date().toISOString().slice(0, 10)
      expect(await page.locator('.plot__said').first().textContent()).to.equal(`${today} ${now ?? ''}`)
    })

    it('shows its grants newest first, and those of one status', async () => {
      await enter(`/accounts/${site.world.account}`)
      const { page } = site
      const amounts = page.getByRole('table', { name: /^Grants/ }).locator('tbody td:first-child .decimal')
      await page.getByText('The yearly credit').waitFor()
      expect(await amounts.allTextContents()).to.deep.equal(['77', '10.5', '50000', '3000000'])
      await page.getByLabel('Status').selectOption('scheduled')
      await page.getByText('The yearly credit').waitFor({ state: 'detached' })
      expect(await amounts.allTextContents()).to.deep.equal(['50000'])
    })

    it('shows its numbers digit by digit, as the API has them', async () => {
      const amount = '12345678901234567890.123456789012345678'
      const { id } = await site.test.create<{ id: string }>('/v2/accounts', { name: 'Exact' })
      await site.test.create('/v2/grants', {
        account_id: id,
        metric_id: site.world.metric,
        amount,
        effective_at: 0,
      })
      await enter(`/accounts/${id}`)
      const shown = site.page.locator('.balance__value .decimal').first()
      await shown.waitFor()
      expect(await shown.textContent()).to.equal(amount)
    })

    it('gets a grant, once, though the first answer is lost', async () => {
      const { id } = await site.test.create<{ id: string }>('/v2/accounts', { name: 'Granted' })
      await enter(`/accounts/${id}`)
      const { page } = site
      await page.getByRole('button', { name: 'Grant', exact: true }).click()
      await page.getByLabel('Amount in tokens').fill('250.5')
      let lost = 0
      await page.route(/\/v2\/grants$/, async (route) => {
        if (route.request().method() !== 'POST' || lost++ > 0) return route.continue()
        await route.fetch()
        return route.abort()
      })
      await page.getByRole('button', { name: 'Grant it' }).click()
      await page.getByRole('cell', { name: '250.5 tokens' }).waitFor()
      expect(lost).to.equal(2)
      await page.locator('.balance__value .decimal').filter({ hasText: '250.5' }).waitFor()
      const { body } = await site.test.get<{ data: unknown[] }>(`/v2/grants?account_id=${id}`)
      expect(body.data).to.have.length(1)
    })

    it('is not taken for granted another amount, when all answers to the first one were lost', async () => {
      const { id } = await site.test.create<{ id: string }>('/v2/accounts', { name: 'Unsure' })
      await enter(`/accounts/${id}`)
      const { page } = site
      await page.getByRole('button', { name: 'Grant', exact: true }).click()
      await page.getByLabel('Amount in tokens').fill('100')
      await page.route(/\/v2\/grants$/, async (route) => {
        if (route.request().method() !== 'POST') return route.continue()
        await route.fetch()
        return route.abort()
      })
      await page.getByRole('button', { name: 'Grant it' }).click()
      await page.getByRole('cell', { name: '100 tokens' }).waitFor() // it was done, and the page has asked
      await page.getByRole('button', { name: 'Grant it' }).waitFor() // no attempt is left
      await page.unroute(/\/v2\/grants$/)
      await page.getByRole('button', { name: 'Close' }).click()
      await page.getByText('This may have been done').waitFor()
      await page.getByLabel('Amount in tokens').fill('200')
      await page.getByRole('button', { name: 'Grant it' }).click()
      await page.getByText('with another content: nothing of this request was done').waitFor()
      const { body } = await site.test.get<{ data: { amount: string }[] }>(`/v2/grants?account_id=${id}`)
      expect(body.data.map(({ amount }) => amount)).to.deep.equal(['100'])
    })

    it('gets credit in a currency that it never had', async () => {
      const { id } = await site.test.create<{ id: string }>('/v2/accounts', { name: 'Paid' })
      await enter(`/accounts/${id}`)
      const { page } = site
      await page.getByRole('button', { name: 'Grant in a currency' }).click()
      await page.getByRole('textbox', { name: 'Currency' }).fill('us')
      await page.getByRole('textbox', { name: 'Amount' }).fill('7.5')
      await page.getByRole('button', { name: 'Grant it' }).click()
      await page.getByText('currency: ').waitFor()
      await page.getByRole('textbox', { name: 'Currency' }).fill('usd')
      await page.getByRole('button', { name: 'Grant it' }).click()
      await page.getByRole('button', { name: /^usd\s*7\.50/ }).waitFor()
    })

    it('asks for a word before a grant is voided', async () => {
      const { id } = await site.test.create<{ id: string }>('/v2/accounts', { name: 'Voided' })
      await site.test.create('/v2/grants', {
        account_id: id,
        metric_id: site.world.metric,
        amount: '5',
        effective_at: 0,
      })
      await enter(`/accounts/${id}`)
      const { page } = site
      await page.getByRole('button', { name: 'Void', exact: true }).click()
      const go = page.getByRole('button', { name: 'Void this grant' })
      expect(await go.isDisabled()).to.equal(true)
      await page.getByLabel('Type void to go on').fill('void')
      await go.click()
      await page.getByRole('table').getByText('voided', { exact: true }).waitFor()
    })

    it('has a plot that arrow keys walk through, day by day', async () => {
      await enter(`/accounts/${site.world.account}`)
      const { page } = site
      await page.getByRole('application', { name: /^Usage/ }).focus()
      await page.keyboard.press('End')
      const said = page.locator('.plot__said').last()
      const today = new Date().toISOString().slice(0, 10)
      expect(await said.textContent()).to.equal(`${today} 40000.25 tokens`)
      await page.keyboard.press('ArrowLeft')
      expect(await said.textContent()).to.match(/^\d{4}-\d\d-\d\d 61000\.25 tokens$/)
    })

    it('keeps range and source in its address', async () => {
      await enter(`/accounts/${site.world.account}`)
      const { page } = site
      await page.getByRole('radio', { name: '7 d' }).check()
      await page.getByRole('button', { name: /^usd/ }).click()
      await page.getByRole('heading', { name: 'Usage, usd' }).waitFor()
      const address = page.url()
      expect(address).to.match(/from=\d{4}-\d\d-\d\d&to=\d{4}-\d\d-\d\d&source=usd/)
      await page.reload()
      await page.getByRole('heading', { name: 'Usage, usd' }).waitFor()
      expect(page.url()).to.equal(address)
    })
  })

  describe('text of others', () => {
    it('runs nothing, opens nothing, and hides nothing', async () => {
      await enter('/accounts')
      const { page } = site
      await page.getByRole('link', { name: HOSTILE.markup }).waitFor()
      await page.getByRole('link', { name: HOSTILE.link }).waitFor()
      await page.getByRole('link', { name: 'evil⟨202E⟩txt.exe' }).waitFor()
      expect(await page.locator('img, iframe').count()).to.equal(0)
      await page.getByRole('link', { name: HOSTILE.markup }).click()
      await page.getByRole('heading', { level: 1, name: HOSTILE.markup }).waitFor()
    })

    it('is no formula in a CSV file', async () => {
      await enter('/accounts')
      const [file] = await Promise.all([
        site.page.waitForEvent('download'),
        site.page.getByRole('button', { name: 'All of them as CSV' }).click(),
      ])
      const text = await readFile(await file.path(), 'utf8')
      expect(text).to.include(`"'${HOSTILE.formula.replaceAll('"', '""')}"`)
      expect(text.split('\r\n').length).to.be.greaterThan(9)
    })
  })

  it('leads a new company to its first event, and shows the balance fall', async () => {
    await enter('/start', site.tally.key)
    const { page } = site
    await page.getByRole('button', { name: 'Make them for me' }).click()
    await page.getByRole('heading', { name: 'Waiting for the event' }).waitFor()
    await page.getByRole('combobox', { name: 'Account' }).waitFor() // its place moves the button
    await page.getByRole('button', { name: 'Send one from here' }).click()
    await page.getByText('Tally has it.').waitFor()
    await page.getByRole('heading', { name: 'The balance fell' }).waitFor({ timeout: 5_000 })
    expect(await page.locator('.steps__balance .decimal').first().textContent()).to.equal('5192')
    await page.getByText('event_').first().waitFor()
    await page.getByRole('link', { name: 'See the account' }).click()
    await page.getByRole('heading', { level: 1, name: 'Try it' }).waitFor()
  })
})
