import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Locator } from 'playwright-core'
import { startOfMonth } from '../../console/src/format/period.ts'
import { DAY_S, utcDay } from '../../console/src/format/time.ts'
import type { SchemaOf } from '../../shared/http/operation.ts'
import { simulatePricesWith } from '../clients/core/run-program.ts'
import { until } from '../support/until.ts'
import { makePricedWorld } from './console-world.ts'
import { type HoldingProxy, holdingProxy } from './holding-proxy.ts'
import { HOSTILE } from './hostile-texts.ts'
import { openTab, signIn } from './use-browser.ts'
import { useConsole } from './use-console.ts'

/** The cells of a table, row by row: the id that a cell links to, or its text. */
async function cellsOf(table: Locator): Promise<string[][]> {
  await table.waitFor()
  const rows = await table.locator('tbody tr').all()
  return Promise.all(
    rows.map(async (row) =>
      Promise.all(
        (await row.locator('td').all()).map(async (cell) => {
          const links = await cell.locator('a').all()
          const href = await links[0]?.getAttribute('href')
          return href?.split('/').at(-1) ?? ((await cell.textContent()) ?? '').trim()
        }),
      ),
    ),
  )
}

describe('prices in the console', function () {
  this.timeout(120_000)
  const site = useConsole(makePricedWorld)
  const { enter } = site
  let card: string
  before(() => {
    card = `/billing/rate-cards/${site.world.prices.card}`
  })
  const table = (caption: string) => site.page.getByRole('table', { name: caption })
  const monthEnd = () => startOfMonth(site.world.prices.month, 1)
  const change = () => ({
    end: [site.world.prices.rate],
    add: [{ metric_id: site.world.prices.metric, price_id: site.world.prices.prices.graduated }],
  })
  const tried = () => encodeURIComponent(JSON.stringify(change()))

  it('a product gets a price, which is drawn while it is typed and priced exactly', async () => {
    await enter('/billing/products')
    const { page } = site
    await page.getByText(HOSTILE.markup).first().waitFor()
    await page.getByRole('button', { name: 'New product' }).click()
    await page.getByLabel('Name').fill('Storage')
    await page.getByRole('button', { name: 'Make the product' }).click()
    const row = page.getByRole('row', { name: /Storage/ })
    await row.getByRole('button', { name: 'New price' }).click()
    await page.getByLabel('Model').selectOption('graduated')
    await page.getByLabel('Currency').fill('usd')
    await page.getByText('The price is drawn here').waitFor()
    await page.getByLabel('Tier 1, up to').fill('1000')
    await page.getByLabel('Tier 1, amount of a unit').fill('10')
    await page.getByLabel('Tier 2, amount of a unit').fill('5')
    await page.getByLabel('For so many units').fill('3')
    await page.getByRole('application', { name: /Amount in usd by quantity/ }).waitFor()
    await page.getByLabel('What do so many cost?').fill('1001')
    // 1000 × 10 / 3 + 1 × 5 / 3
    await page.getByText('3335 usd').waitFor()
    await page.getByText('5/3 ≈ 1.6666').waitFor()
    await page.getByLabel('Tier 1, up to').fill('0')
    await page.getByText('tier 1: its end is above 0').waitFor()
    expect(await page.getByRole('button', { name: 'Make the price' }).isDisabled()).to.equal(true)
    await page.getByLabel('Tier 1, up to').fill('99999999999999999999')
    await page.getByRole('button', { name: 'Make the price' }).click()
    await row.getByRole('link', { name: 'graduated, 2 tiers' }).click()
    await page.getByRole('heading', { level: 1, name: 'Price of Storage' }).waitFor()
    const tiers = await cellsOf(table('Tiers'))
    expect(tiers.map(([above, upTo]) => [above, upTo])).to.deep.equal([
      ['0', '99999999999999999999'],
      ['99999999999999999999', 'no end'],
    ])
    await page.getByRole('button', { name: 'Archive' }).click()
    await page.getByText('Rate cards and contracts that use it go on.').waitFor()
    await page.getByRole('button', { name: 'Archive it' }).click()
    await page.getByRole('button', { name: 'Bring back' }).waitFor()
  })

  it('the bends of a price are read by arrow keys', async () => {
    await enter(`/billing/prices/${site.world.prices.prices.package}`)
    const { page } = site
    const plot = page.getByRole('application', { name: /Amount in usd/ })
    await plot.focus()
    await page.keyboard.press('Home')
    // 500 are included, and 3 are due at least.
    await page.getByText('500 cost 3 usd').waitFor()
    await page.keyboard.press('ArrowRight')
    await page.getByText('1500 cost 5 usd').waitFor()
    await page.keyboard.press('End')
    await page.getByText('6500 cost 22.5 usd').waitFor()
  })

  it('a rate card is made, with a rate that has prices by a property', async () => {
    await enter('/billing/rate-cards')
    const { page } = site
    await page.getByRole('link', { name: HOSTILE.long }).waitFor()
    await page.getByRole('button', { name: 'New rate card' }).click()
    await page.getByLabel('Name').fill('Plus')
    await page.getByLabel('Currency').fill('USD')
    await page.getByRole('button', { name: 'Add a rate' }).click()
    await page.getByLabel('Usage of').selectOption({ label: 'Calls' })
    await page.getByRole('button', { name: 'Only events with a property' }).click()
    await page.getByLabel('Filter 1, property').fill('region')
    await page.getByLabel('Filter 1, value').fill('eu')
    await page.getByLabel('A price for each value of the property').fill('model')
    await page.getByRole('button', { name: 'Add a value' }).click()
    await page.getByLabel('Value 1', { exact: true }).fill('large')
    await page.getByLabel('Price of value 1').selectOption(site.world.prices.prices.package)
    await page.getByLabel('Price of the rest').selectOption(site.world.prices.prices.unit)
    await page.getByRole('button', { name: 'Make the rate card' }).click()
    await page.getByRole('heading', { level: 1, name: 'Plus' }).waitFor()
    await table('Rates of the card').getByText('sum of Calls, region = eu, by model').waitFor()
    const id = page.url().split('/').at(-1) ?? ''
    const { body } = await site.test.get<SchemaOf<'RateCard'>>(`/v2/rate-cards/${id}`)
    expect(body.rates[0]).to.deep.include({
      filters: [{ property: 'region', values: ['eu'] }],
      group_by: 'model',
      prices: [{ value: 'large', price_id: site.world.prices.prices.package }],
      price_id: site.world.prices.prices.unit,
    })
  })

  it('rates stand on a line of time, and are those of the second that is asked for', async () => {
    await enter(card)
    const { page } = site
    await page.getByRole('application', { name: /^Rates/ }).focus()
    await page.keyboard.press('Home')
    await page.getByText('API calls, sum of Calls').first().waitFor()
    await page.keyboard.press('End')
    await page.getByRole('status').getByText('59 usd a period').waitFor()
    expect((await cellsOf(table('Rates of the card'))).map(([, , prices]) => prices)).to.include(
      site.world.prices.prices.flat,
    )
    await page.getByLabel('In force at, UTC').fill('2200-01-01')
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await table('Rates of the card').getByText('59 usd a period').waitFor()
    expect(page.url()).to.include('at=2200-01-01')
  })

  describe('a simulation', () => {
    /** What the command says about the same. */
    const byCommand = async (...args: string[]) => {
      const { out } = await simulatePricesWith(
        ['--url', site.tally.url, '--card', site.world.prices.card, '--json', '--all', ...args],
        { env: { TALLY_API_KEY: site.tally.testKey } },
      )
      return JSON.parse(out) as { totals: SchemaOf<'SimulationTotals'>; data: SchemaOf<'SimulatedAccount'>[] }
    }
    /** Reports usage of last month by one more account, and waits until so many accounts are simulated. */
    const reportLate = async (count: number) => {
      const { id } = await site.test.create<{ id: string }>('/v2/accounts', { name: 'Late caller' })
      const event = { account_id: id, metric_id: site.world.prices.metric, quantity: '100' }
      await site.test.create('/v2/events/batch', {
        events: [{ ...event, occurred_at: site.world.prices.month, idempotency_key: `late-${count}` }],
      })
      await until(async () => (await byCommand('--against', 'none')).totals.accounts === count)
    }
    const figure = (name: string) => site.page.locator('.figures > div', { hasText: name }).locator('dd')

    it('says what the command says: totals, spread, the largest of each side, and all accounts', async () => {
      await enter(`${card}/simulate`)
      const { page } = site
      await page.getByLabel('Against').selectOption('none')
      await page.getByRole('button', { name: 'Simulate' }).click()
      await page.getByRole('heading', { name: 'Where the differences lie' }).waitFor()
      const { totals, data } = await byCommand('--against', 'none')
      expect(await figure('Nothing').textContent()).to.equal(`${totals.baseline} usd`)
      expect(await figure('By this card').textContent()).to.equal(`${totals.candidate} usd`)
      expect(await figure('Difference').textContent()).to.equal(`+${totals.difference} usd`)
      expect((await cellsOf(table('How many accounts pay more'))).map(([, count]) => count)).to.deep.equal(
        [totals.increased, totals.decreased, totals.unchanged].map(String),
      )
      const { p5, p25, p50, p75, p95 } = totals.quantiles
      expect((await cellsOf(table('Differences of accounts'))).map(([, value]) => value)).to.deep.equal(
        [p5, p25, p50, p75, p95].map((value) => `+${value} usd`),
      )
      const rows = await cellsOf(table('Who would pay most more'))
      expect(rows.map(([id, , then]) => [id, then])).to.deep.equal(
        totals.largest.increases.map(({ account_id: id, candidate }) => [id, `${candidate} usd`]),
      )
      await page.getByRole('button', { name: 'All accounts' }).click()
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: `CSV of ${data.length} accounts` }).click(),
      ])
      const days = `${utcDay(site.world.prices.month)}-to-${utcDay(monthEnd() - 1)}`
      expect(file.suggestedFilename()).to.equal(
        `simulation-${site.world.prices.card}-against-none-${days}.csv`,
      )
      const [headings, ...lines] = (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
      expect(headings).to.include('account id,"Nothing, usd","By this card, usd","difference, usd"')
      expect(lines).to.deep.equal(
        data.map(({ account_id, baseline, candidate, difference }) =>
          [account_id, baseline, candidate, difference].join(','),
        ),
      )
      await page.getByRole('radio', { name: 'Table' }).check()
      const bins = await cellsOf(table('Accounts by difference in usd'))
      expect(bins.reduce((sum, [, , count = '']) => sum + parseInt(count, 10), 0)).to.equal(data.length)
    })

    it('of a change leads to the account and to its lines, and then the change is applied', async () => {
      await enter(card)
      const { page } = site
      await page.getByRole('button', { name: 'Try a change' }).click()
      await page.getByLabel('API calls, sum of Calls', { exact: true }).check()
      await page.getByRole('button', { name: 'Add a rate' }).click()
      await page.getByLabel('Usage of').selectOption({ label: 'Calls' })
      await page
        .getByRole('combobox', { name: 'Price', exact: true })
        .selectOption(site.world.prices.prices.graduated)
      await page.getByRole('button', { name: 'Try it on last month' }).click()
      await page.getByRole('heading', { level: 1, name: 'Simulation' }).waitFor()
      await page.getByLabel('Against').selectOption(site.world.prices.card)
      expect(new URL(page.url()).searchParams.get('from')).to.equal(utcDay(site.world.prices.month))
      // 500, 1000, 1000.5, 2000 and 5000 calls: +1, +2, +2.49, -1.5 and -13.5. The fixed charge of 49, and the least of
      // 3 for calls of one model, are on both sides.
      await page.locator('.figures').getByText('-9.51').waitFor()
      const more = await cellsOf(table('Who would pay most more'))
      expect(more.map(([id, now, then, difference]) => [id, now, then, difference])).to.deep.equal([
        [site.world.prices.accounts[2], '62.01 usd', '64.5 usd', '+2.49 usd +4 %'],
        [site.world.prices.accounts[1], '62 usd', '64 usd', '+2 usd +3.2 %'],
        [site.world.prices.accounts[0], '57 usd', '58 usd', '+1 usd +1.8 %'],
      ])
      await table('Who would pay most more').getByRole('link', { name: 'Caller 3' }).waitFor()
      await table('Who would pay most less').getByRole('button', { name: 'Lines' }).first().click()
      const lines = page.getByRole('dialog')
      await lines.getByText('graduated, 2 tiers').waitFor()
      await lines.getByRole('heading', { name: 'By card Standard' }).waitFor()
      const then = await cellsOf(lines.getByRole('table', { name: 'After the change' }))
      expect(then.map((cells) => cells.at(-1)))
        .to.include('36.5 usd')
        .and.to.include('49 usd')
      await page.keyboard.press('Escape')
      expect(await figure('By card Standard').textContent()).to.match(/ usd$/)
      await table('Who would pay most more').getByRole('columnheader', { name: 'After the change' }).waitFor()
      await page.getByRole('button', { name: 'Apply this change' }).click()
      await page.getByRole('button', { name: 'Apply it' }).click()
      await page.getByRole('heading', { level: 1, name: 'Standard' }).waitFor()
      await table('Rates of the card').getByRole('link', { name: 'graduated, 2 tiers' }).waitFor()
      const { body } = await site.test.get<SchemaOf<'RateCard'>>(`/v2/rate-cards/${site.world.prices.card}`)
      expect(body.rates.map(({ price_id: id }) => id)).to.include(site.world.prices.prices.graduated)
    })

    it('of other days is not there before it is asked for, and names the days of its usage', async () => {
      await enter(`${card}/simulate`)
      const { page } = site
      await page.getByRole('button', { name: 'Simulate' }).click()
      const day = (seconds: number) => utcDay(seconds)
      const said = page.getByText(/^Usage from/)
      await said.waitFor()
      const between = `${day(site.world.prices.month)} 00:00:00 to ${day(monthEnd())} 00:00:00`
      expect(await said.textContent()).to.include(`Usage from ${between}, as one period`)
      const { searchParams } = new URL(page.url())
      expect([searchParams.get('from'), searchParams.get('to')]).to.deep.equal([
        day(site.world.prices.month),
        day(monthEnd() - 1),
      ])
      await page.getByRole('radio', { name: '7 d' }).check()
      await said.waitFor({ state: 'detached' })
      expect(new URL(page.url()).searchParams.has('run')).to.equal(false)
      await page.getByRole('button', { name: 'Simulate' }).click()
      await said.waitFor()
      const now = Math.floor(Date.now() / 1_000)
      expect(await said.textContent()).to.match(
        new RegExp(`^Usage from ${day(now - 6 * DAY_S)} 00:00:00 to `),
      )
    })

    it('asked again reads what came since, and all accounts are read anew', async () => {
      await enter(`${card}/simulate?against=none`)
      const { page } = site
      await page.getByRole('button', { name: 'Simulate' }).click()
      await figure('Nothing').waitFor()
      const { totals: before } = await byCommand('--against', 'none')
      expect(await figure('Accounts').textContent()).to.equal(before.accounts.toString())
      await reportLate(before.accounts + 1)
      await page.getByRole('button', { name: 'Simulate' }).click()
      await figure('Accounts')
        .getByText(`${before.accounts + 1}`, { exact: true })
        .waitFor()
      await reportLate(before.accounts + 2)
      await page.getByRole('button', { name: 'All accounts' }).click()
      await page.getByRole('button', { name: `CSV of ${before.accounts + 2} accounts` }).waitFor()
    })

    it('says all of a change in its address, and keeps it in an edit', async () => {
      const { metric, prices } = site.world.prices
      const unknown = `price_${'1'.repeat(32)}`
      const rate = {
        ...{ metric_id: metric, group_by: 'model', prices: [{ value: 'large', price_id: prices.package }] },
        ...{ price_id: unknown, starts_at: 4_102_444_800, ends_at: 4_102_531_200 },
      }
      const ended = `rate_${'2'.repeat(32)}`
      const at = (changes: object) =>
        `${card}/simulate?changes=${encodeURIComponent(JSON.stringify(changes))}`
      await enter(at({ effective_at: 4_102_444_800, end: [ended], add: [rate] }))
      const { page } = site
      const tried = page.getByRole('region', { name: 'The change that is tried' })
      const begins = await tried.getByRole('listitem').filter({ hasText: 'begins' }).textContent()
      expect(begins).to.match(/^begins API calls, sum of Calls, by model: large: /)
      expect(begins).to.include(`; the rest: ${unknown}, from 2100-01-01 00:00:00, until 2100-01-02 00:00:00`)
      await page.getByRole('link', { name: 'Edit it' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('from 2100-01-01 00:00:00, until 2100-01-02 00:00:00').waitFor()
      expect(await dialog.getByRole('checkbox', { name: ended }).isChecked()).to.equal(true)
      const shown = dialog.getByLabel('Price of the rest').locator('option:checked')
      expect(await shown.textContent()).to.equal(unknown)
      const request = (await dialog.textContent()) ?? ''
      for (const part of ['"starts_at":4102444800', '"ends_at":4102531200', ended, `"price_id":"${unknown}"`])
        expect(request).to.include(part)
      await page.keyboard.press('Escape')
      for (const wrong of [{ starts_at: 'tomorrow' }, { ends_at: 1e300 }]) {
        await page.goto(`/console${at({ add: [{ ...rate, ...wrong }] })}`)
        await page.getByText('The change in this address cannot be read.').waitFor()
      }
    })

    it('ends at the server when it is stopped', async () => {
      const proxy: HoldingProxy = await holdingProxy(site.tally.url, '/simulate')
      const behind = await openTab(site.browser, proxy.url)
      try {
        await behind.page.goto(`/console${card}/simulate`)
        await signIn(behind, site.tally.testKey)
        await behind.page.getByRole('button', { name: 'Simulate' }).click()
        await behind.page.getByText('Rating all accounts').waitFor()
        await until(() => Promise.resolve(proxy.held === 1))
        expect(proxy.givenUp).to.equal(0)
        await behind.page.getByRole('button', { name: 'Stop' }).click()
        await until(() => Promise.resolve(proxy.givenUp === 1))
        await behind.page.getByText('Rating all accounts').waitFor({ state: 'detached' })
        expect(behind.faults).to.deep.equal([])
      } finally {
        await behind.close()
        await proxy.close()
      }
    })

    it('of a key that may only read has no button that writes', async () => {
      const { key } = await site.test.create<{ key: string }>('/v2/api-keys', {
        name: 'prices reader',
        permissions: ['read:all'],
      })
      await enter(`${card}/simulate?changes=${tried()}`, key)
      const { page } = site
      await page.getByRole('link', { name: 'Edit it' }).waitFor()
      const absent = async (...names: string[]) => {
        for (const name of names)
          expect(await page.getByRole('button', { name, exact: true }).count(), name).to.equal(0)
      }
      await absent('Apply this change')
      await page.getByRole('link', { name: 'Standard' }).click()
      await page.getByRole('button', { name: 'Try a change' }).waitFor()
      await absent('Archive')
      await page.getByRole('link', { name: 'Products' }).click()
      await page.getByText('0.01 usd each').waitFor()
      await absent('New product', 'New price', 'Archive')
    })
  })
})
