import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { sumDecimals } from '../../console/src/format/decimal.ts'
import { until } from '../support/until.ts'
import { makeExploredWorld } from './console-world.ts'
import { HOSTILE } from './hostile-texts.ts'
import { seeAgain } from './use-browser.ts'
import { useConsole } from './use-console.ts'

const DAY_S = 86_400
const today = () => new Date().toISOString().slice(0, 10)

describe('journeys through usage, metrics and customers', function () {
  this.timeout(120_000)
  const site = useConsole(makeExploredWorld)
  const { enter } = site
  /** The text of a table's cells, row by row. */
  const cells = async (name: string): Promise<string[][]> => {
    const rows = await site.page.getByRole('table', { name }).locator('tbody tr').all()
    return Promise.all(
      rows.map(async (row) => (await row.locator('td').allTextContents()).map((text) => text.trim())),
    )
  }
  const usagePath = (more = '') => `/usage?source=${site.world.explore.requests}${more}`
  const BY_MODEL = '&split=property&property=model'

  describe('the usage explorer', () => {
    it('ranks values exactly, says what is left out, and all of it adds up', async () => {
      await enter(usagePath(BY_MODEL))
      await site.page.getByRole('heading', { name: '10 of 14 values, the rest together' }).waitFor()
      const rows = await cells('Ranking')
      expect(rows[0]).to.deep.equal(['model-01', '12000.25 requests', '15.1 %', '1'])
      expect(rows.slice(-2)).to.deep.equal([
        ['4 others, together', '3900.5 requests', '4.9 %', '4'],
        ['without model', '155 requests', '0.1 %', '2'],
      ])
      const quantities = rows.map(([, quantity = '']) => quantity.replace(' requests', ''))
      expect(sumDecimals(quantities)).to.equal('79058')
      expect(await site.page.locator('.facts .decimal').first().textContent()).to.equal('79058')
    })

    it('says each part of a day, digit by digit, and draws all of them', async () => {
      await enter(usagePath(BY_MODEL))
      const { page } = site
      await page.getByRole('application', { name: /^Sum in requests/ }).focus()
      await page.keyboard.press('End')
      expect(await page.locator('.plot__said').textContent()).to.equal(
        `${today()} 13055.25 requests · model-01 12000.25 requests · 6 others 900 requests · without model 155 requests`,
      )
      const drawn = (part: string) => page.locator(`.plot__svg rect.plot__bar--${part}`).count()
      expect([await drawn('1'), await drawn('8'), await drawn('rest'), await drawn('without')]).to.deep.equal(
        [1, 1, 5, 1],
      )
    })

    it('keeps the colour of a value when the ranks change', async () => {
      await enter(usagePath(BY_MODEL))
      const { page } = site
      const colourOf = (model: string) =>
        page
          .getByRole('table', { name: 'Ranking' })
          .getByRole('row', { name: model })
          .locator('rect')
          .getAttribute('class')
      const before = await colourOf('model-03')
      expect(before).to.equal('plot__bar--3')
      const two = new Date(Date.now() - 2 * DAY_S * 1_000).toISOString().slice(0, 10)
      await page.getByLabel('First day, UTC').fill(two)
      await page.getByLabel('Last day, UTC').fill(two)
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page.getByRole('heading', { name: 'The only value' }).waitFor()
      expect((await cells('Ranking')).map(([name]) => name)).to.deep.equal(['model-03'])
      expect(await colourOf('model-03')).to.equal(before)
    })

    it('keeps its question in the address', async () => {
      await enter(usagePath())
      const { page } = site
      await page.getByRole('heading', { name: 'All 2 accounts' }).waitFor()
      await page.getByRole('radio', { name: 'Property' }).check()
      await page.getByRole('button', { name: 'model', exact: true }).click()
      await page.getByRole('combobox', { name: 'As' }).selectOption('max')
      await page.getByRole('radio', { name: 'Month', exact: true }).first().check()
      await page.getByText('such values of groups do not add up').waitFor()
      expect(new URL(page.url()).search).to.equal(
        `?source=${site.world.explore.requests}&split=property&property=model&aggregation=max&period=month`,
      )
      await page.reload()
      await page.getByText('such values of groups do not add up').waitFor()
      expect((await cells('Ranking'))[0]).to.deep.equal(['model-01', '12000.25 requests', '1'])
    })

    it('takes a property that is typed, and offers those that were seen when it has no value', async () => {
      await enter(usagePath('&split=property'))
      const { page } = site
      await page.getByText('Which property?').waitFor()
      await page.getByRole('combobox', { name: 'Property' }).fill('not a name')
      await page.getByText('a name has letters, digits').waitFor()
      await page.getByRole('combobox', { name: 'Property' }).fill('colour')
      await page.getByRole('combobox', { name: 'Property' }).press('Enter')
      await page.getByText(/No event from \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d has colour/).waitFor()
      await page.getByRole('button', { name: 'region' }).click()
      await page.getByRole('heading', { name: 'All 2 values' }).waitFor()
      expect((await cells('Ranking')).map(([name]) => name)).to.deep.equal(['eu', 'us', 'without region'])
    })

    it('writes all groups into a file, and into a statement for analysts', async () => {
      await enter(usagePath(BY_MODEL))
      const { page } = site
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'CSV of 14 values' }).click(),
      ])
      const lines = (await readFile(await file.path(), 'utf8')).split('\r\n')
      expect(lines[0]).to.equal('\uFEFFrow,model,"quantity, requests",events')
      expect(lines[1]).to.equal('value,model-01,12000.25,1')
      expect(lines.slice(-3)).to.deep.equal(['without model,,155,2', 'total,,79058,16', ''])
      expect(lines).to.have.length(18)
      expect(lines.join('\n')).to.include(`value,"'${HOSTILE.formula.replaceAll('"', '""')}",400,1`)
      await page.getByText('SQL for all 14 values').click()
      const sql = (await page.locator('.snippet__text').textContent()) ?? ''
      expect(sql).to.include(`e.metric_id = '${site.world.explore.requests}'`).and.include("'model'")
    })

    it('says in the words of the server what it refuses', async () => {
      await enter('/usage?source=nothing')
      await site.page.getByRole('alert').getByText('(400)').waitFor()
    })
  })

  describe('the overview', () => {
    it('leads a company without an event to its first steps, as every page does', async () => {
      await enter('/', site.tally.key)
      const { page } = site
      await page.getByRole('heading', { level: 1, name: 'First steps' }).waitFor()
      await page.getByRole('link', { name: 'Overview', exact: true }).click()
      await page.getByText('Nothing was reported yet.').waitFor()
      await page.getByRole('link', { name: 'Send the first event' }).waitFor()
      for (const [name, empty, command] of [
        ['Customers', 'No customer yet.', '/v2/customers'],
        ['Metrics', 'No metric yet.', '/v2/metrics'],
      ] as const) {
        await page.getByRole('link', { name, exact: true }).click()
        await page.getByText(empty).waitFor()
        expect(await page.locator('.snippet__text').textContent()).to.include(command)
      }
      await page.getByRole('link', { name: 'Usage', exact: true }).click()
      await page.getByText('Nothing can be counted yet.').waitFor()
    })

    it('is where a company with events begins, and says what was used today, exactly', async () => {
      await enter('/')
      const { page } = site
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      await page.getByRole('combobox', { name: 'Usage of' }).selectOption('Requests')
      await page.getByRole('heading', { name: 'Usage of Requests' }).waitFor()
      const values = page.locator('.balance__value .decimal')
      await values.first().waitFor()
      expect((await values.allTextContents()).slice(0, 2)).to.deep.equal(['13055.25', '11000.25'])
      await page.getByRole('radio', { name: 'The five largest' }).check()
      await page.getByRole('table', { name: 'The largest accounts' }).waitFor()
      expect((await cells('The largest accounts')).map(([name, quantity]) => [name, quantity])).to.deep.equal(
        [
          ['Explored', '78980.5 requests'],
          ['Second', '77.5 requests'],
        ],
      )
    })

    it('shows an event a moment after it is accepted, unless it is paused', async () => {
      const report = (quantity: string) =>
        site.test.create('/v2/events', {
          account_id: site.world.bare,
          metric_id: site.world.metric,
          quantity,
          occurred_at: Math.floor(Date.now() / 1_000),
        })
      await enter('/overview')
      const { page } = site
      const events = page.getByRole('table', { name: 'Newest events' })
      await events.getByText('Explored').first().waitFor()
      await report('31.25')
      await events.getByText('31.25 tokens').waitFor({ timeout: 15_000 })
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByText('paused', { exact: true }).waitFor()
      let asked = 0
      page.on('request', (request) => {
        if (request.url().includes('/v2/events?')) asked++
      })
      await page.waitForTimeout(5_500) // longer than from one question to the next
      expect(asked).to.equal(0)
      await page.getByRole('button', { name: 'Go on' }).click()
      await page.waitForRequest(/\/v2\/events\?/)
    })

    it('adds up what the running periods come to, and shows first what somebody should look at', async () => {
      await enter('/overview')
      await site.page.getByRole('table', { name: 'Contracts' }).getByText('Explored').waitFor()
      const { body } = await site.test.get<{ data: { amount_due: string }[] }>('/v2/invoice-previews')
      const due = sumDecimals(body.data.map(({ amount_due: amount }) => amount))
      const [[currency, contracts, , , shown = ''] = []] = await cells('Invoices by currency')
      expect([currency, contracts]).to.deep.equal(['usd', body.data.length.toString()])
      expect(sumDecimals([shown.replace(' usd', '')])).to.equal(due)
      const rows = await cells('Contracts')
      expect(rows.find(([name]) => name === 'Explored')?.[2]).to.equal('usage without a price')
      const isNotable = rows.map(([, , look]) => look !== '')
      expect(isNotable).to.include(false)
      expect(isNotable.indexOf(false)).to.equal(isNotable.lastIndexOf(true) + 1)
    })

    it('adds up all contracts, page by page', async () => {
      const api = site.live
      const account = await api.create<{ id: string }>('/v2/accounts', { name: 'Many' })
      const product = await api.create<{ id: string }>('/v2/products', { name: 'Base' })
      const price = await api.create<{ id: string }>('/v2/prices', {
        product_id: product.id,
        currency: 'usd',
        model: 'flat',
        amount: '0.07',
      })
      const starts = Math.floor(Date.now() / 1_000)
      for (let made = 0; made < 101; made++)
        await api.create('/v2/contracts', {
          account_id: account.id,
          currency: 'usd',
          cadence: 'month',
          starts_at: starts,
          lines: [{ price_id: price.id }],
        })
      await api.create('/v2/events', {
        account_id: account.id,
        currency: 'usd',
        quantity: '1',
        occurred_at: starts,
      })
      // The page fills the places of a currency that it knows.
      await until(async () => {
        const { body } = await api.get<{ data: { currency: string }[] }>('/v2/currencies')
        return body.data.some(({ currency }) => currency === 'usd')
      })
      await enter('/overview', site.tally.key)
      const { page } = site
      await page.getByText('Added up are the first 100 contracts').waitFor()
      expect((await cells('Invoices by currency'))[0]?.[4]).to.equal('7.00 usd')
      const asked: URLSearchParams[] = []
      page.on('request', (request) => {
        if (request.url().includes('/v2/invoice-previews')) asked.push(new URL(request.url()).searchParams)
      })
      await page.getByRole('button', { name: 'Add up all' }).click()
      const all = page.getByText('Added up are all 101 contracts, as of')
      await all.waitFor()
      expect((await cells('Invoices by currency'))[0]?.[4]).to.equal('7.07 usd')
      const [asOf] = asked.map((query) => query.get('as_of'))
      expect(asked.map((query) => [query.get('at'), query.get('as_of')])).to.deep.equal([
        [asOf, asOf],
        [asOf, asOf],
      ])
      const said = await all.locator('time').getAttribute('datetime')
      expect(Date.parse(said ?? '') / 1_000).to.equal(Number(asOf))
      // Sums of before do not stay under an answer that is newer.
      await seeAgain(page)
      await page.getByText('Added up are the first 100 contracts').waitFor()
      expect((await cells('Invoices by currency'))[0]?.[4]).to.equal('7.00 usd')
    })

    it('counts a grant that was made meanwhile', async () => {
      const { id } = await site.test.create<{ id: string }>('/v2/accounts', { name: 'Credited' })
      const contract = await site.test.create<{ id: string }>('/v2/contracts', {
        account_id: id,
        currency: 'usd',
        cadence: 'month',
        lines: [{ minimum_amount: '5' }],
      })
      await enter('/overview')
      const { page } = site
      await page.getByRole('table', { name: 'Invoices by currency' }).waitFor()
      const credit = async () => (await cells('Invoices by currency'))[0]?.[3] ?? ''
      const before = await credit()
      await page.getByRole('link', { name: 'Accounts', exact: true }).click()
      await page.getByRole('link', { name: 'Credited' }).click()
      await page.getByRole('button', { name: 'Grant in a currency' }).click()
      await page.getByRole('textbox', { name: 'Currency' }).fill('usd')
      await page.getByRole('textbox', { name: 'Amount' }).fill('2')
      await page.getByRole('button', { name: 'Grant it' }).click()
      await page.locator('dialog').waitFor({ state: 'detached' })
      // An invoice has the credit of before its second, and the console does not read previews again for a minute.
      await until(async () => {
        const { body } = await site.test.post<{ credit_total: string }>('/v2/invoice-previews', {
          contract_id: contract.id,
        })
        return body.credit_total === '2'
      })
      await page.getByRole('link', { name: 'Overview', exact: true }).click()
      await until(async () => !['', before].includes(await credit()))
      const number = (text: string) => text.replace(' usd', '')
      expect(number(await credit())).to.equal(
        sumDecimals([number(before), '2']).replace(/^(-?\d+)$/, '$1.00'),
      )
    })
  })

  describe('a metric', () => {
    it('is made, changed, archived and brought back', async () => {
      await enter('/metrics')
      const { page } = site
      await page.getByRole('button', { name: 'New metric' }).click()
      await page.getByLabel('Name').fill('Gigabytes')
      await page.getByLabel('Unit').fill('GB')
      await page.getByLabel('External id').fill('requests')
      await page.getByRole('button', { name: 'Make the metric' }).click()
      await page.getByText('external_id: ').waitFor() // another metric has it
      await page.getByLabel('External id').fill('gb')
      await page.getByRole('button', { name: 'Make the metric' }).click()
      await page.getByRole('heading', { level: 1, name: 'Gigabytes' }).waitFor()
      await page.getByText('No event of this metric yet.').waitFor()
      await page.getByRole('button', { name: 'Change', exact: true }).click()
      await page.getByLabel('External id').fill('')
      await page.getByLabel('Unit').fill('gigabytes')
      await page.getByLabel('Event type').fill('disk.used')
      await page.getByLabel('Field with the quantity').fill('gigabytes')
      await page.getByRole('button', { name: 'Change it' }).click()
      await page.locator('.fact').getByText('gigabytes').first().waitFor()
      const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
      const { body } = await site.test.get<object>(`/v2/metrics/${id}`)
      expect(body).to.include({ name: 'Gigabytes', measurement_units: 'gigabytes' })
      expect(body).to.include({ event_type: 'disk.used', event_quantity: 'gigabytes' })
      await page.locator('.fact').getByText('disk.used').waitFor()
      await page.getByRole('button', { name: 'Change', exact: true }).click()
      await page.getByLabel('Event type').fill('')
      await page.getByRole('button', { name: 'Change it' }).click()
      await page.locator('.fact').getByText('disk.used').waitFor({ state: 'detached' })
      expect(body).to.not.have.property('external_id')
      await page.getByRole('button', { name: 'Archive', exact: true }).click()
      await page.getByRole('button', { name: 'Archive it' }).click()
      await page.locator('.fact').getByText('archived').waitFor()
      await page.getByRole('button', { name: 'Bring back' }).click()
      await page.getByRole('button', { name: 'Bring it back' }).click()
      await page.getByRole('button', { name: 'Archive', exact: true }).waitFor()
    })

    it('has the number of its events this month, the properties seen, and who used it', async () => {
      await enter('/metrics')
      const { page } = site
      const month = today().slice(0, 7)
      await page.getByText(`Events in ${month}`).first().waitFor()
      const { body } = await site.test.get<{ data: { data: { metric_id: string; quantity: string }[] }[] }>(
        `/v2/metrics/usage/monthly?aggregation=count&start_at=${Date.parse(`${month}-01`) / 1_000}`,
      )
      const events = body.data[0]?.data.find(
        ({ metric_id: id }) => id === site.world.explore.requests,
      )?.quantity
      await page
        .getByRole('row', { name: 'Requests' })
        .getByText(events ?? 'none')
        .waitFor()
      await page.getByRole('link', { name: 'Requests', exact: true }).click()
      await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor()
      await page.getByRole('table', { name: 'Properties' }).waitFor()
      expect((await cells('Properties')).map(([name, count]) => [name, count])).to.deep.equal([
        ['model', '14 of the last 16'],
        ['region', '13 of the last 16'],
        [HOSTILE.link, '1 of the last 16'],
      ])
      await page.getByRole('link', { name: 'region' }).click()
      await page.getByRole('heading', { name: 'All 2 values' }).waitFor()
    })
  })

  describe('a customer', () => {
    it('is made, changed and found', async () => {
      await enter('/customers')
      const { page } = site
      await page.getByRole('link', { name: HOSTILE.markup }).waitFor()
      await page.getByRole('button', { name: 'New customer' }).click()
      await page.getByLabel('Name').fill('Newcomer Ltd')
      await page.getByLabel('Id in your accounting system').fill('no uuid')
      await page.getByRole('button', { name: 'Make the customer' }).click()
      await page.getByText('accounting_customer_id: ').waitFor()
      await page.getByLabel('Id in your accounting system').fill('')
      await page.getByRole('button', { name: 'Make the customer' }).click()
      await page.getByRole('heading', { level: 1, name: 'Newcomer Ltd' }).waitFor()
      await page.getByRole('button', { name: 'Change', exact: true }).click()
      await page.getByLabel('External id').fill('newcomer-1')
      await page.getByRole('button', { name: 'Change it' }).click()
      await page.locator('.fact').getByText('newcomer-1').waitFor()
      await page.getByRole('link', { name: 'Customers', exact: true }).first().click()
      await page.getByRole('searchbox').fill('NEWCOMER-1')
      await page.getByRole('link', { name: HOSTILE.markup }).waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'Newcomer Ltd' }).click()
      await page.getByText('has no account yet').waitFor()
    })

    it('shows its accounts with their balances', async () => {
      await site.test.create('/v2/grants', {
        account_id: site.world.explore.explored,
        metric_id: site.world.explore.requests,
        amount: '100000.125',
        effective_at: 0,
      })
      await enter(`/customers/${site.world.explore.payer}?source=${site.world.explore.requests}`)
      await site.page.getByText('21019.625').waitFor()
      expect(await cells('Accounts of the customer')).to.deep.equal([
        ['Second', '', '-77.5 requests'],
        ['Explored', '', '21019.625 requests'],
      ])
    })
  })

  describe('the search', () => {
    it('finds a metric and a customer by name and by id, and Enter opens the first', async () => {
      await enter('/accounts')
      const { page } = site
      await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor()
      const found = async (text: string, heading: string) => {
        await page.keyboard.press('/')
        const field = page.getByRole('searchbox', { name: 'Search for' })
        await field.fill(text)
        await field.press('Enter')
        await page.getByRole('heading', { level: 1, name: heading }).waitFor()
      }
      await found('reques', 'Requests')
      expect(new URL(page.url()).pathname).to.equal(`/console/metrics/${site.world.explore.requests}`)
      await found('explorer-ltd', 'Explorer Ltd')
      await found(site.world.explore.lonely, 'Lonely Ltd')
      await found(site.world.metric, 'Tokens')
      await found(site.world.account, 'Acme production')
      await found('Overv', 'Overview')
    })

    it('is left with the page by Back, and does not come with Forward', async () => {
      await enter('/accounts')
      const { page } = site
      const isPage = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
      await isPage('Accounts')
      await page.getByRole('link', { name: 'Metrics', exact: true }).click()
      await isPage('Metrics')
      await page.keyboard.press('/')
      await page.getByRole('searchbox', { name: 'Search for' }).waitFor()
      await page.goBack()
      await isPage('Accounts')
      expect(await page.locator('dialog').count()).to.equal(0)
      await page.goForward()
      await isPage('Metrics')
      expect(await page.locator('dialog').count()).to.equal(0)
    })
  })

  it('shows a key that may only read no button that writes', async () => {
    const { key } = await site.test.create<{ key: string }>('/v2/api-keys', {
      name: 'reader of metrics',
      permissions: ['read:all'],
    })
    await enter('/metrics', key)
    const { page } = site
    const noButtons = async () => {
      for (const name of ['New metric', 'New customer', 'Change', 'Archive'])
        expect(await page.getByRole('button', { name, exact: true }).count(), name).to.equal(0)
    }
    await page.getByRole('link', { name: 'Requests', exact: true }).waitFor()
    await noButtons()
    await page.getByRole('link', { name: 'Requests', exact: true }).click()
    await page.getByRole('table', { name: 'Properties' }).waitFor()
    await noButtons()
    await page.getByRole('link', { name: 'Customers', exact: true }).click()
    await page.getByRole('link', { name: 'Explorer Ltd' }).click()
    await page.getByRole('table', { name: 'Accounts of the customer' }).waitFor()
    await noButtons()
  })
})
