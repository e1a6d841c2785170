import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { until } from '../support/until.ts'
import { DAY_S, nowS } from './account-data.ts'
import { makeSupportedWorld } from './console-world.ts'
import { HOSTILE } from './hostile-texts.ts'
import { useConsole } from './use-console.ts'

describe('the tabs of an account', function () {
  this.timeout(120_000)
  const site = useConsole(makeSupportedWorld)
  const { enter } = site
  const panel = (heading: string) => site.page.getByRole('region', { name: heading, exact: true })

  describe('events', () => {
    it('open from a day of a plot by Enter', async () => {
      await enter(`/accounts/${site.world.support.account}`)
      const { page } = site
      await page.getByRole('application', { name: /^Balance/ }).focus()
      await page.keyboard.press('End')
      for (let day = 0; day < 3; day++) await page.keyboard.press('ArrowLeft')
      await page.keyboard.press('Enter')
      await page.getByRole('table', { name: /^Events/ }).waitFor()
      const { day } = site.world.support
      expect(new URL(page.url()).search).to.equal(`?source=${site.world.metric}&from=${day}&to=${day}`)
      expect(await page.getByRole('row').count()).to.equal(5) // the heading, and four events of that day
    })

    it('are filtered by a property, in a click or typed, and the filter stands in the address', async () => {
      await enter(`/accounts/${site.world.support.account}/events`)
      const { page } = site
      const rows = page.getByRole('table', { name: /^Events/ }).locator('tbody tr')
      await page.getByRole('button', { name: 'Only region = eu' }).first().click()
      await page.getByRole('button', { name: 'All events' }).waitFor()
      await until(async () => (await rows.count()) === 2)
      expect(new URL(page.url()).search).to.equal('?property=region&value=eu')
      await page.getByLabel('Property', { exact: true }).fill('model')
      await page.getByLabel('Value', { exact: true }).fill(HOSTILE.markup)
      await page.getByRole('button', { name: 'Filter' }).click()
      await until(async () => (await rows.count()) === 1)
      await page.getByRole('cell', { name: '7 tokens' }).waitFor()
      await page.reload()
      await page.getByRole('cell', { name: '7 tokens' }).waitFor()
      expect(await rows.count()).to.equal(1)
      await page.getByLabel('Value', { exact: true }).fill('nobody')
      await page.getByRole('button', { name: 'Filter' }).click()
      await page.getByText('with model = nobody').waitFor()
      await page.getByText('There is no event before either.').waitFor()
    })

    it('come in by themselves, and say where the last one lies when there is none', async () => {
      const { id } = await site.world.data.makeAccount('Live')
      const at = nowS() - 40 * DAY_S
      await site.world.data.report(id, [{ quantity: '5', occurred_at: at }])
      await site.world.data.awaitUsage(id, '5')
      await enter(`/accounts/${id}/events`)
      const { page } = site
      await page.getByText('The last event before is of').waitFor()
      await site.world.data.report(id, [{ quantity: '77.125' }])
      await page.getByRole('cell', { name: '77.125 tokens' }).waitFor({ timeout: 12_000 })
      await page.goto(`/console/accounts/${id}/events?from=2100-01-01&to=2100-01-01`)
      await page.getByRole('button', { name: 'Show that day' }).click()
      await page.getByRole('cell', { name: '77.125 tokens' }).waitFor()
    })

    it('keep range and source when another tab is shown', async () => {
      const { account, day } = site.world.support
      const range = `?source=${site.world.metric}&from=${day}&to=${day}`
      await enter(`/accounts/${account}/events${range}&property=model&value=large`)
      const { page } = site
      for (const [name, path] of [
        ['About', `/about${range}`],
        ['Usage', `/usage${range}`],
        ['Billing', `/billing${range}`],
        ['Balance', range],
        ['Events', `/events${range}`],
      ] as const) {
        await page.locator('.tabs').getByRole('link', { name, exact: true }).click()
        await page.waitForURL(`**/accounts/${account}${path}`)
        await page.locator('.tabs [aria-current=page]').filter({ hasText: name }).waitFor()
      }
      expect(await page.title()).to.equal('Events · Beta support · Tally')
    })
  })

  it('shows usage by the values of a property, exactly, and says where the last usage lies', async () => {
    const { account } = site.world.support
    await enter(`/accounts/${account}/usage`)
    const { page } = site
    await page.getByLabel('Property', { exact: true }).fill('model')
    await page.keyboard.press('Enter') // the name may not be known yet as one that was seen
    const values = page.getByRole('table', { name: 'Usage by model' }).locator('tbody tr')
    await values.first().waitFor()
    expect(new URL(page.url()).searchParams.get('split')).to.equal('model')
    const small = (await site.test.get<{ quantity: string }>(`/v2/events/${site.world.support.corrected}`))
      .body
    expect(await values.locator('td:nth-child(2)').allTextContents()).to.deep.equal([
      '1901.75 tokens',
      `${small.quantity} tokens`,
      '7 tokens',
    ])
    expect(await values.nth(2).locator('td').first().textContent()).to.include(HOSTILE.markup)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ])
    const text = await readFile(await file.path(), 'utf8')
    expect(text.split('\r\n')[0]).to.equal(`\uFEFF"day, UTC","all, tokens",large,small,${HOSTILE.markup}`)
    expect(text).to.include(`\r\n${site.world.support.day},`)
    await page.getByRole('combobox', { name: /^As/ }).selectOption('max')
    await page.getByText('1900.5 tokens largest of 4 events').waitFor()
    await page.getByRole('radio', { name: 'Month' }).first().check()
    await page.getByRole('application', { name: /by UTC month/ }).waitFor()
    await page.goto(`/console/accounts/${account}/usage?from=2100-01-01&to=2100-01-01`)
    await page.getByRole('button', { name: 'Show that day' }).click()
    await page.getByText('1.25 tokens').first().waitFor()
  })

  it('changes an account, archives it and brings it back, with its trail', async () => {
    const { id } = await site.world.data.makeAccount('Before')
    await enter(`/accounts/${id}/about`)
    const { page } = site
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill(HOSTILE.markup)
    await page.getByRole('textbox', { name: 'External id' }).fill('acme-prod')
    await page.getByRole('button', { name: 'Change it' }).click()
    await page.locator('.field__fault, .form__error').first().waitFor() // another account has it
    await page.getByRole('textbox', { name: 'External id' }).fill('changed-one')
    const sent = page.waitForRequest((request) => request.method() === 'PATCH')
    await page.getByRole('button', { name: 'Change it' }).click()
    expect((await sent).postDataJSON()).to.deep.equal({ name: HOSTILE.markup, external_id: 'changed-one' })
    await page.getByRole('heading', { level: 1, name: HOSTILE.markup }).waitFor()
    await page.getByRole('button', { name: 'Archive', exact: true }).click()
    await page.getByRole('button', { name: 'Archive it' }).click()
    await page.getByRole('button', { name: 'Bring back' }).click()
    await page.getByRole('button', { name: 'Bring it back' }).click()
    await page.getByRole('button', { name: 'Archive', exact: true }).waitFor()
    const done = panel('Trail').locator('tbody td:nth-child(3)')
    await until(async () => (await done.count()) === 4)
    expect(await done.allTextContents()).to.deep.equal(['brought back', 'archived', 'changed', 'created'])
  })

  it('shows what the contract of an account comes to, digit by digit', async () => {
    const { id } = await site.world.data.makeAccount('Billed')
    await site.test.create('/v2/contracts', {
      account_id: id,
      currency: 'usd',
      cadence: 'month',
      name: HOSTILE.markup,
      lines: [{ minimum_amount: '12345678901234567.89' }],
    })
    await enter(`/accounts/${id}/billing`)
    const preview = panel(`Invoice preview, ${HOSTILE.markup}`)
    await preview.getByText('Due').waitFor()
    const facts = await preview.locator('dd').allTextContents()
    const { body } = await site.test.get<{ data: { amount_due: string }[] }>('/v2/invoice-previews')
    const due = body.data.at(-1)?.amount_due ?? ''
    expect(due).to.match(/^\d{10,}/)
    expect(facts.at(-1)).to.equal(`${due} usd`)
  })

  it('changes of a refill only what was typed, whatever others changed meanwhile', async () => {
    const { id } = await site.world.data.makeAccount('Refilled')
    const { metric } = site.world
    const api = site.test
    const target = `/v2/refill-configurations/${id}/${metric}`
    await api.create('/v2/refill-configurations', {
      account_id: id,
      metric_id: metric,
      minimum_balance: '10',
      target_balance: '100',
    })
    await enter(`/accounts/${id}?source=${metric}`)
    const { page } = site
    await panel('Refills, Tokens').getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('Target in tokens').fill('200')
    await api.patch(target, { minimum_balance: '50' })
    const sent = page.waitForRequest((request) => request.method() === 'PATCH')
    await page.getByRole('button', { name: 'Change refills' }).click()
    expect((await sent).postDataJSON()).to.deep.equal({ target_balance: '200' })
    await panel('Refills, Tokens').getByText('below 50 tokens, up to 200 tokens').waitFor()
  })

  it('reads refills again after a grant, and they have an age of their own', async () => {
    await enter(`/accounts/${site.world.account}`)
    const { page } = site
    const refills = panel('Refills so far, Tokens')
    await refills.getByText('Nothing was refilled yet.').waitFor()
    await refills.getByText('as of').waitFor()
    await page.getByRole('button', { name: 'Grant', exact: true }).click()
    await page.getByLabel('Amount in tokens').fill('0.5')
    const again = page.waitForRequest(/\/refills\?/)
    await page.getByRole('button', { name: 'Grant it' }).click()
    await again
  })
})
