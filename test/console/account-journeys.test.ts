import { expect } from 'chai'
import { until } from '../support/until.ts'
import { DAY_S, nowS } from './account-data.ts'
import { makeSupportedWorld } from './console-world.ts'
import { seeAgain } from './use-browser.ts'
import { useConsole } from './use-console.ts'

describe('journeys through an account', function () {
  this.timeout(120_000)
  const site = useConsole(makeSupportedWorld)
  const { enter } = site
  const panel = (heading: string) => site.page.getByRole('region', { name: heading, exact: true })

  describe('support', () => {
    it('finds in five clicks who changed what, and a correction is in the balance within two seconds', async () => {
      await enter('/accounts')
      const { page } = site
      await page.getByText('Acme production').waitFor()
      let clicks = 0
      const click = async (locator: { click(): Promise<void> }) => {
        clicks++
        await locator.click()
      }
      await click(page.getByRole('button', { name: /^Search/ }))
      await page.keyboard.type('beta-support')
      await click(page.getByRole('link', { name: 'Beta support account' }))
      await click(page.locator('.plot__svg rect').first())
      await page.getByRole('heading', { name: 'Events' }).waitFor()
      expect(new URL(page.url()).search).to.include(
        `from=${site.world.support.day}&to=${site.world.support.day}`,
      )
      await click(page.getByRole('row').filter({ hasText: 'corrected' }).getByRole('button').first())
      const drawer = page.getByRole('dialog', { name: 'Event' })
      await drawer.getByText('Correction 2').waitFor()
      expect(clicks).to.be.at.most(5)
      const revisions = drawer.getByRole('listitem')
      expect(await revisions.nth(1).textContent()).to.match(
        /Correction 1 .* by first key.*quantitywas 250now 240/,
      )
      expect(await revisions.nth(2).textContent()).to.match(/property byadded "support"/)

      await drawer.getByRole('button', { name: 'Correct' }).click()
      const answer = page.waitForResponse((response) => response.request().method() === 'PATCH')
      await page.getByLabel('Quantity in tokens').fill('200.125')
      await page.getByRole('button', { name: 'Correct it' }).click()
      await answer
      // 10000 - (1900.5 + 200.125 + 7 + 1.25)
      const counted = drawer.getByRole('status').filter({ hasText: 'It is 7891.125 tokens.' })
      await counted.waitFor({ timeout: 2_000 })
      await drawer.getByText('The balance has followed.').waitFor({ timeout: 5_000 })
      await drawer.getByText('Correction 3').waitFor()
      expect(await revisions.nth(3).textContent()).to.match(/by first key.*quantitywas 240now 200\.125/)
      await page.keyboard.press('Escape')
      await page.getByRole('cell', { name: '200.125 tokens' }).waitFor()
    })

    it('takes an event out for good, once its quantity is typed', async () => {
      const { id } = await site.world.data.makeAccount('Taken out')
      const { event_ids: ids } = await site.world.data.report(id, [{ quantity: '30.5' }, { quantity: '12' }])
      await site.world.data.awaitUsage(id, '42.5')
      await enter(`/events/${ids[0] ?? ''}`)
      const { page } = site
      await page.getByRole('button', { name: 'Void', exact: true }).click()
      const go = page.getByRole('button', { name: 'Void this event' })
      await page.getByLabel('Type 30.5 to go on').fill('30')
      expect(await go.isDisabled()).to.equal(true)
      await page.getByLabel('Type 30.5 to go on').fill('30.5')
      await go.click()
      await page.getByText('The balance has followed. It is -12 tokens.').waitFor()
      await panel('Revisions').getByText('no, it is voided').waitFor()
      await panel('Fields').getByText('Voided', { exact: true }).waitFor()
      expect(await page.getByRole('button', { name: 'Correct' }).count()).to.equal(0)
    })

    it('corrects properties, but sends no number that was not typed', async () => {
      const { id } = await site.world.data.makeAccount('Properties')
      const { event_ids: ids } = await site.world.data.report(id, [
        { quantity: '1', properties: { model: 'a', tries: 2 } },
      ])
      await site.world.data.awaitUsage(id, '1')
      await enter(`/events/${ids[0] ?? ''}`)
      const { page } = site
      await page.getByRole('button', { name: 'Correct' }).click()
      const field = page.getByLabel('Properties', { exact: true })
      await field.fill('{"model": "b", "tries": 12345678901234567890}')
      await page.getByText('12345678901234567890 would be sent as 12345678901234567000').waitFor()
      expect(await page.getByRole('button', { name: 'Correct it' }).isDisabled()).to.equal(true)
      await field.fill('{"model": "b", "tries": "12345678901234567890"}')
      const sent = page.waitForRequest((request) => request.method() === 'PATCH')
      await page.getByRole('button', { name: 'Correct it' }).click()
      expect((await sent).postDataJSON()).to.deep.equal({
        properties: { model: 'b', tries: '12345678901234567890' },
      })
      await panel('Revisions').getByText('"12345678901234567890"').waitFor()
    })

    it('that may only read sees no button that writes, no trail, and the ids of keys', async () => {
      const { key } = await site.test.create<{ key: string }>('/v2/api-keys', {
        name: 'support reader',
        permissions: ['read:all'],
      })
      await enter(`/events/${site.world.support.corrected}`, key)
      const { page } = site
      await panel('Revisions').getByText('Correction 1').waitFor()
      expect(await panel('Revisions').textContent()).to.match(/by [0-9a-f-]{36}/)
      for (const name of ['Correct', 'Void'])
        expect(await page.getByRole('button', { name, exact: true }).count(), name).to.equal(0)
      await page.goto(`/console/accounts/${site.world.support.account}/about`)
      await panel('Fields').getByText('beta-support', { exact: true }).waitFor()
      for (const name of ['Change', 'Archive'])
        expect(await page.getByRole('button', { name, exact: true }).count(), name).to.equal(0)
      expect(await panel('Trail').count()).to.equal(0)
    })
  })

  describe('what is read', () => {
    it('says so when balances in the list of accounts cannot be read', async () => {
      await site.page.route(/accounts\/balances/, (route) =>
        route.fulfill({ status: 500, body: 'internal error' }),
      )
      await enter('/accounts')
      const { page } = site
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
      await site.page.route(/\/v2\/accounts\?/, (route) =>
        route.continue({ url: route.request().url().replace('limit=100', 'limit=2') }),
      )
      await enter('/accounts')
      const { page } = site
      await page.getByText('2 shown, there are more.').waitFor()
      await page.getByText(/as of [3-9] s ago/).waitFor()
      await page.getByRole('button', { name: 'More' }).click()
      await page.getByText('4 shown, there are more.').waitFor()
      expect(await page.locator('.panel__fresh').textContent()).to.match(/as of ([3-9]|\d\d) s ago/)
    })

    it('is read again when the window is seen again, unless that costs many requests', async () => {
      await site.page.route(/\/v2\/accounts\?/, (route) =>
        route.continue({ url: route.request().url().replace('limit=100', 'limit=2') }),
      )
      await enter('/accounts?query=Acme')
      const { page } = site
      /** Waits until the customers and the balances of so many accounts are there. */
      const isRead = (accounts: number) =>
        until(
          async () =>
            (await page.getByText('Acme Ltd', { exact: true }).count()) === accounts &&
            (await page.getByRole('cell', { name: /^-?\d[\d.]* tokens$/ }).count()) === accounts,
        )
      const asked: string[] = []
      page.on('request', (request) => asked.push(new URL(request.url()).pathname))
      /** What is asked again, but for the caller and the metrics, which every page asks for. */
      const askedAgain = async () => {
        asked.length = 0
        const metrics = page.waitForResponse(/\/v2\/metrics\?/)
        await seeAgain(page)
        await metrics
        return asked.filter((path) => /accounts|customers/.test(path)).sort()
      }
      await page.getByText('2 shown, there are more.').waitFor()
      await isRead(2)
      expect(await askedAgain()).to.deep.equal(['/v2/accounts', '/v2/accounts/balances'])
      await page.getByRole('button', { name: 'More', exact: true }).click()
      await page.getByText(/^4 shown/).waitFor()
      await isRead(4)
      expect(await askedAgain()).to.deep.equal(['/v2/accounts/balances'])
    })

    it('says how long a balance lasts by the days since its first usage', async () => {
      const { id } = await site.world.data.makeAccount('Young')
      await site.test.create('/v2/grants', {
        account_id: id,
        metric_id: site.world.metric,
        amount: '1000',
        effective_at: 0,
      })
      const noon = nowS() - (nowS() % DAY_S) - DAY_S / 2
      await site.world.data.report(id, [
        { quantity: '100', occurred_at: noon },
        { quantity: '300', occurred_at: noon - DAY_S },
      ])
      await site.world.data.awaitUsage(id, '400')
      await enter(`/accounts/${id}`)
      // 600 are left, 400 were used in two days.
      await site.page
        .getByText(/lasts about 3 days, at the mean of the 2 whole days since its first usage/)
        .waitFor()
    })
  })
})
