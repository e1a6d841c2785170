import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { ApiClient } from '../support/api-client.ts'
import { until } from '../support/until.ts'
import { HOSTILE } from './hostile-texts.ts'
import { queryCaches } from './query-caches.ts'
import { openTab, signIn } from './use-browser.ts'
import { useConsole } from './use-console.ts'

const clockOf = async (api: ApiClient): Promise<{ ahead: number }> => {
  const { body } = await api.get<{ now: number; real_now: number }>('/v2/test/clock')
  return { ahead: body.now - body.real_now }
}

/** The number of all events of a company. */
const countOf = async (api: ApiClient): Promise<string> => {
  const { body } = await api.get<{ data: { id: string }[] }>('/v2/accounts')
  const counts = body.data.map(async ({ id }) => {
    const target = `/v2/accounts/${id}/usage?start_at=0&end_at=4294967295&aggregation=count`
    return (await api.get<{ events_consumed: { quantity: string }[] }>(target)).body.events_consumed
  })
  const all = (await Promise.all(counts)).flat()
  return all.reduce((sum, { quantity }) => sum + BigInt(quantity), 0n).toString()
}

describe('journeys of a company through the console', function () {
  this.timeout(120_000)
  const site = useConsole()
  const { enter } = site
  let page: Page
  beforeEach(() => {
    page = site.page
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  /** The key in the dialog that shows it once. */
  const shownKey = async () => {
    await button('I have the key').waitFor()
    return (await page.locator('dialog .snippet__text').textContent()) ?? ''
  }
  /** Everything that the page keeps and shows, but for the text of a dialog that is open. */
  const kept = async () => {
    const rest =
      'JSON.stringify({ ...sessionStorage }) + JSON.stringify({ ...localStorage }) + document.cookie'
    return (await page.evaluate<string>(`${rest} + location.href`)) + (await queryCaches(page))
  }
  const issue = (api: ApiClient, fields: object) =>
    api.create<{ key: string; api_key: { id: string } }>('/v2/api-keys', {
      name: 'of a test',
      permissions: ['read:all'],
      ...fields,
    })
  const statusOf = async (key: string) => (await new ApiClient(site.tally.url, key).get('/v2/caller')).status

  describe('keys', () => {
    it('are shown once, by a dialog that alone has them and is closed by hand', async () => {
      await enter('/keys', site.tally.key)
      await button('New key').click()
      await page.getByRole('textbox', { name: 'Name' }).fill('billing')
      await page.getByRole('checkbox', { name: /^write:all/ }).check()
      await page.getByRole('textbox', { name: 'Works until' }).fill('2100-02-31')
      await page.getByText('Write it as 2026-12-31').waitFor()
      expect(await button('Make the key').isDisabled()).to.equal(true)
      await page.getByRole('textbox', { name: 'Works until' }).fill('2100-01-01')
      await button('Make the key').click()
      const key = await shownKey()
      const { body } = await new ApiClient(site.tally.url, key).get<{
        api_key: { name: string; permissions: string[]; expires_at: number }
      }>('/v2/caller')
      expect(body.api_key).to.include({ name: 'billing', expires_at: 4_102_444_800 })
      expect(body.api_key.permissions).to.have.members(['read:all', 'write:all'])
      expect(await kept()).to.not.include(key)
      await page.keyboard.press('Escape')
      await page.getByText('After this the key cannot be seen again.').waitFor()
      await button('Close').click()
      expect(await page.locator('dialog .snippet__text').textContent()).to.equal(key)
      await button('I have the key').click()
      await page.locator('dialog').waitFor({ state: 'detached' })
      await page
        .getByRole('row', { name: /billing/ })
        .getByText(`…${key.slice(-4)}`)
        .waitFor()
      expect((await kept()) + (await page.content())).to.not.include(key)
    })

    it('are not left without a question, once they are made', async () => {
      await enter('/keys', site.tally.key)
      await button('New key').click()
      await page.getByRole('textbox', { name: 'Name' }).fill('left')
      await button('Make the key').click()
      await shownKey()
      await page.getByText('a step back in the browser loses it').waitFor()
      const [asked] = await Promise.all([page.waitForEvent('dialog'), page.reload()])
      expect(asked.type()).to.equal('beforeunload')
    })

    it('get no permission that the key in use lacks', async () => {
      const { key } = await issue(site.live, { permissions: ['manage:keys'] })
      await enter('/keys', key)
      await button('New key').click()
      expect(await page.getByRole('checkbox', { name: /^read:all/ }).isDisabled()).to.equal(true)
      expect(await page.getByRole('checkbox', { name: /^manage:keys/ }).isDisabled()).to.equal(false)
    })

    it('are replaced while the old one goes on, and the one in use never ends before the new one is seen', async () => {
      const { key, api_key: old } = await issue(site.live, { name: 'of the gateway' })
      await enter('/keys', site.tally.key)
      const row = page.getByRole('row', { name: /of the gateway/ })
      await row.getByRole('button', { name: 'Rotate' }).click()
      await page.getByLabel('The old key goes on').selectOption({ label: 'not at all' })
      await button('Close').click()
      await page
        .getByRole('row', { name: /this key/ })
        .getByRole('button', { name: 'Rotate' })
        .click()
      const offered = await page.getByLabel('The old key goes on').locator('option').allTextContents()
      expect(offered).to.have.length(4).and.not.include('not at all')
      await button('Close').click()
      await row.getByRole('button', { name: 'Rotate' }).click()
      await button('Rotate this key').click()
      const made = await shownKey()
      expect(await kept()).to.not.include(made)
      await button('I have the key').click()
      await page.getByText('replaced', { exact: true }).waitFor()
      expect([await statusOf(key), await statusOf(made)]).to.deep.equal([200, 200])
      const { body } = await site.live.get<{ expires_at: number }>(`/v2/api-keys/${old.id}`)
      expect(body.expires_at - Date.now() / 1_000).to.be.within(86_300, 86_400)
    })

    it('end once a word is typed, and the one in use signs this page out', async () => {
      const { key, api_key: mine } = await issue(site.live, {
        name: 'mine',
        permissions: ['read:all', 'manage:keys'],
      })
      const { key: other } = await issue(site.live, { name: HOSTILE.markup })
      await enter('/keys', key)
      await page.getByRole('row', { name: HOSTILE.markup }).getByRole('button', { name: 'Revoke' }).click()
      await page.getByText('loses access within five seconds, for good').waitFor()
      expect(await button('Revoke this key').isDisabled()).to.equal(true)
      await page.getByLabel('Type revoke to go on').fill('revoke')
      await button('Revoke this key').click()
      await page.getByText('Keys that ended: 1').waitFor()
      await until(async () => (await statusOf(other)) === 401)
      await page
        .getByRole('row', { name: /this key/ })
        .getByRole('button', { name: 'Revoke' })
        .click()
      await page.getByText('You will be signed out').waitFor()
      await page.getByLabel('Type revoke to go on').fill('revoke')
      await button('Revoke this key').click()
      await button('Sign in').waitFor()
      const { body } = await site.live.get<{ status: string }>(`/v2/api-keys/${mine.id}`)
      expect(body.status).to.equal('revoked')
    })

    it('that an operator revokes end every open page within ten seconds, and leave nothing there', async () => {
      const { key, api_key: mine } = await issue(site.live, { permissions: ['read:all', 'manage:keys'] })
      const { id } = await site.live.create<{ id: string }>('/v2/accounts', { name: 'Left behind' })
      await enter(`/accounts/${id}`, key)
      await page.getByRole('heading', { level: 1, name: 'Left behind' }).waitFor()
      const [other] = await Promise.all([
        site.tab.context.waitForEvent('page'),
        page.getByRole('link', { name: 'Keys' }).click({ modifiers: ['Control'] }),
      ])
      await other.getByRole('row', { name: /this key/ }).waitFor()
      const { code, output } = await site.tally.command('keys', 'revoke', mine.id)
      expect(code, output).to.equal(0)
      for (const open of [page, other]) {
        await open.bringToFront()
        await open.getByText('This key is not valid any more').waitFor({ timeout: 10_000 })
        const storages = 'JSON.stringify({ ...sessionStorage }) + JSON.stringify({ ...localStorage })'
        const left =
          (await open.content()) + (await open.evaluate<string>(storages)) + (await queryCaches(open))
        for (const text of [key, id, 'Left behind', site.tally.company, mine.id])
          expect(left).to.not.include(text)
      }
    })

    it('of one account are made, listed by it and revoked, and sign nobody in', async () => {
      const { id } = await site.live.create<{ id: string }>('/v2/accounts', { name: 'Wien & Söhne' })
      await enter('/keys', site.tally.key)
      await button('New account key').click()
      const dialog = page.getByRole('dialog')
      expect(await button('Make the key').isDisabled()).to.equal(true)
      await dialog.getByLabel('Find the account').fill('wien')
      await dialog.getByRole('combobox', { name: 'Account' }).selectOption({ label: 'Wien & Söhne' })
      await dialog.getByLabel('It works').selectOption({ label: 'for 30 days' })
      await button('Make the key').click()
      const key = await shownKey()
      expect(await kept()).to.not.include(key)
      await button('I have the key').click()
      expect(new URL(page.url()).search).to.equal(`?account_id=${id}`)
      const asCustomer = new ApiClient(site.tally.url, key)
      const { body } = await asCustomer.get<{ account_id: string; api_key: { expires_at: number } }>(
        '/v2/caller',
      )
      expect(body.account_id).to.equal(id)
      expect(body.api_key.expires_at - Date.now() / 1_000).to.be.within(29 * 86_400, 30 * 86_400)
      const list = page.getByRole('region', { name: 'Keys of this account' })
      const row = list.getByRole('row', { name: /read one account/ })
      await row.getByText(`…${key.slice(-4)}`).waitFor()
      await page.getByRole('region', { name: 'API keys' }).getByRole('row').first().waitFor()
      expect(
        await page.getByRole('region', { name: 'API keys' }).getByText('read one account').count(),
      ).to.equal(0)

      const other = await openTab(site.browser, site.tally.consoleUrl)
      await other.page.goto('/console/keys')
      await signIn(other, key)
      await other.page.getByText('this key reads one account').waitFor()
      expect(other.faults).to.deep.equal([])
      await other.close()

      await row.getByRole('button', { name: 'Revoke' }).click()
      await page.getByLabel('Type revoke to go on').fill('revoke')
      await button('Revoke this key').click()
      await list.getByText('Keys that ended: 1').waitFor()
      await until(async () => (await statusOf(key)) === 401)
    })

    it('that may not manage keys see why, and no menu entry', async () => {
      const { key } = await issue(site.live, {})
      await enter('/keys', key)
      await page.getByText('This key may not manage keys.').waitFor()
      expect(await page.getByRole('link', { name: 'Keys' }).count()).to.equal(0)
      await page.goto('/console/trail')
      await page.getByText('This key may not read the trail.').waitFor()
    })
  })

  it('the trail says who did what, of one resource or one key, as text', async () => {
    const { key, api_key: who } = await issue(site.live, { name: 'an editor', permissions: ['write:all'] })
    const editor = new ApiClient(site.tally.url, key)
    const { id } = await editor.create<{ id: string }>('/v2/accounts', { name: HOSTILE.markup })
    await editor.patch(`/v2/accounts/${id}`, { description: HOSTILE.link })
    await editor.patch(`/v2/accounts/${id}`, { description: null })
    await enter(`/accounts/${id}`, site.tally.key)
    await page.getByRole('main').getByRole('link', { name: 'Trail' }).click()
    await page.getByRole('heading', { level: 1, name: 'Trail' }).waitFor()
    const rows = page.getByRole('rowgroup').last().getByRole('row')
    await rows.nth(2).waitFor()
    const texts = await rows.allTextContents()
    expect(texts).to.have.length(3)
    expect(texts[0]).to.match(/an editoraccount changed.*description removed$/)
    expect(texts[1]).to.include(`description set to ${HOSTILE.link}`)
    expect(texts[2])
      .to.match(/account created/)
      .and.to.include(`name ${HOSTILE.markup}`)
    await page.getByRole('link', { name: 'an editor' }).first().click()
    await page.getByLabel('Made with').waitFor()
    expect(new URL(page.url()).search).to.equal(`?api_key_id=${who.id}`)
    await button('All changes').click()
    await page.getByText('api key issued').first().waitFor()
    await page.getByLabel('Id of a resource').fill(who.id)
    await button('Show').click()
    await until(async () => (await rows.count()) === 1)
    await page.getByText('["write:all"]').waitFor()
  })

  describe('the test area', () => {
    it('is not for a live company, which has no menu entry', async () => {
      await enter('/test', site.tally.key)
      await page.getByText('This company is live.').waitFor()
      expect(await page.getByRole('link', { name: 'Test area' }).count()).to.equal(0)
      expect(await page.getByRole('button', { name: 'Reset' }).count()).to.equal(0)
    })

    it('makes data that are counted, moves the clock on every page, and empties the company', async () => {
      await enter('/test')
      await page.getByRole('textbox', { name: 'Seed' }).fill('4294967296')
      expect(await button('Make it').isDisabled()).to.equal(true)
      await page.getByRole('textbox', { name: 'Seed' }).fill('7')
      await button('Make it').click()
      await page.getByText(/^Seed 7: 3 customers, 7 accounts, .* events reported and counted\./).waitFor()
      const [, events = ''] =
        /, (\d+) events/.exec((await page.getByText('Seed 7:').textContent()) ?? '') ?? []
      const { body } = await site.test.get<{ data: unknown[] }>('/v2/accounts?query=seed-7-account')
      expect(body.data).to.have.length(7)
      expect(await countOf(site.test)).to.equal(events)
      await page.getByText(/^seeds 7$/).waitFor()

      await button('+ 1 day').click()
      const moved = page.getByText('The clock of this test company shows')
      await page.getByText(/The clock of this test company shows .*\(1 day ahead\)/).waitFor()
      await button('+ 1 hour').click()
      await until(async () => (await clockOf(site.test)).ahead === 90_000)
      await button('Set …').click()
      await page.getByLabel('Time of the company, UTC').fill('2020-01-01')
      await button('Set the clock').click()
      await page.locator('.field__fault, .form__error').getByText('now').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
      await button('To the end of the period').click()
      await until(async () => (await clockOf(site.test)).ahead > 90_000)
      await page.getByRole('link', { name: 'Accounts', exact: true }).click()
      await page.getByText('Internal').waitFor()
      await moved.waitFor()
      await page.getByRole('link', { name: 'Test area' }).click()
      await button('Back to real time').click()
      await page.getByText('They are the same.').waitFor()
      await moved.waitFor({ state: 'detached' })

      await button('Reset …').click()
      await page.getByLabel(/name to go on$/).fill('another name')
      expect(await button('Reset the company').isDisabled()).to.equal(true)
      await page.getByLabel(/name to go on$/).fill(site.tally.testCompany)
      await button('Reset the company').click()
      await page.getByText('The company was emptied at').waitFor()
      expect(await queryCaches(page)).to.not.include('seed-7-account')
      await page.getByRole('link', { name: 'Accounts', exact: true }).click()
      await page.getByText('No account yet').waitFor()
    })
  })
})
