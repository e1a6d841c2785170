import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { fillPlaces } from '../../console/src/format/decimal.ts'
import { instantParameter, monthText, periodText, startOfMonth } from '../../console/src/format/period.ts'
import { instantText, utcDay } from '../../console/src/format/time.ts'
import { ApiClient } from '../support/api-client.ts'
import { shareTallyUnderTest } from '../support/tally-under-test.ts'
import { until } from '../support/until.ts'
import { makeAgreedWorld } from './console-world.ts'
import { HOSTILE } from './hostile-texts.ts'
import { useConsole } from './use-console.ts'

const DAY_S = 86_400

interface Preview {
  total: string
  credit_total: string
  amount_due: string
  usage_as_of: number
  lines: { quantity: string; exact_amount: string; amount: string; query: string | null }[]
}

/** Holds requests for previews whose address or body has a text. @returns lets them go on */
async function holdPreviews(page: Page, has: (text: string) => boolean): Promise<() => void> {
  let letGo = () => {}
  const released = new Promise<void>((resolve) => (letGo = resolve))
  await page.route(/\/v2\/invoice-previews/, async (route) => {
    const request = route.request()
    if (has(request.url() + (request.postData() ?? ''))) await released
    await route.continue()
  })
  return letGo
}

describe('journeys through contracts and invoice previews', function () {
  this.timeout(120_000)
  const site = useConsole(makeAgreedWorld)
  const { enter } = site
  beforeEach(() => site.tab.context.grantPermissions(['clipboard-read', 'clipboard-write']))
  const previewOf = async (body: object, api = site.test): Promise<Preview> =>
    (await api.post<Preview>('/v2/invoice-previews', body)).body
  const shownTotals = () => site.page.locator('.totals dd > .money').allTextContents()
  const copied = () => site.page.evaluate<string>('navigator.clipboard.readText()')

  describe('finance', () => {
    let month: number
    let contract: string
    let amended: string
    let account: string
    let metric: string

    /** The account of docs/billing.md: 49 a month and 3 per million tokens, and 1,734,567 tokens so far. */
    before(async () => {
      const api = site.test
      const make = async (path: string, body: object) => (await api.create<{ id: string }>(path, body)).id
      month = startOfMonth(Math.floor(Date.now() / 1_000), -1)
      account = await make('/v2/accounts', { name: 'Initech' })
      metric = await make('/v2/metrics', { name: 'Prompt tokens', measurement_units: 'tokens' })
      const priceOf = async (name: string, terms: object) =>
        make('/v2/prices', { product_id: await make('/v2/products', { name }), currency: 'usd', ...terms })
      const card = await make('/v2/rate-cards', {
        name: 'Plan',
        currency: 'usd',
        rates: [
          { price_id: await priceOf('Platform', { model: 'flat', amount: '49' }) },
          {
            metric_id: metric,
            price_id: await priceOf('Prompts', { model: 'per_unit', unit_amount: '3', per: '1000000' }),
          },
        ],
      })
      contract = await make('/v2/contracts', {
        account_id: account,
        currency: 'usd',
        cadence: 'month',
        name: 'Initech plan',
        starts_at: month,
        lines: [{ rate_card_id: card }],
      })
      ;[amended = ''] = await report([
        { quantity: '500000', occurred_at: month + 20 * DAY_S },
        { quantity: '1234567', occurred_at: month + 21 * DAY_S },
      ])
      await until(async () => (await previewOf({ contract_id: contract, at: month })).total === '54.2')
    })

    const report = async (events: { quantity: string; occurred_at: number }[]): Promise<string[]> => {
      const { event_ids: ids } = await site.test.create<{ event_ids: string[] }>('/v2/events/batch', {
        events: events.map((event) => ({
          account_id: account,
          metric_id: metric,
          idempotency_key: `${event.quantity} ${event.occurred_at}`,
          ...event,
        })),
      })
      return ids
    }
    /** Waits until what was sent so far is of before the second up to which a preview is complete. */
    const pastNow = async () => {
      const sent = Math.floor(Date.now() / 1_000)
      await until(async () => (await previewOf({ contract_id: contract, at: month })).usage_as_of > sent)
    }

    it('gets from a month to what came after its invoice, in four clicks', async () => {
      await pastNow()
      await enter(`/billing/invoices?at=${instantParameter(startOfMonth(month, 1) - 1)}`)
      const { page } = site
      await page.getByRole('link', { name: 'Initech' }).click()
      await page.getByRole('heading', { level: 1, name: 'Invoice preview, Initech plan' }).waitFor()
      await page.locator('.invoice').waitFor()
      expect((await shownTotals())[0]).to.equal('54.20 usd')
      await page.getByRole('button', { name: 'Copy link' }).click()
      await page.getByText('Copied').waitFor()
      const link = await copied()
      expect(link).to.match(/\/preview\?at=[\dT%A-]+&known_at=[\dT%A-]+$/)

      await report([{ quantity: '265433', occurred_at: startOfMonth(month, 1) - DAY_S }])
      await site.test.create('/v2/events/corrections', {
        corrections: [{ event_id: amended, quantity: '400000' }],
      })
      await until(async () => (await previewOf({ contract_id: contract, at: month })).total === '54.7')
      await pastNow()

      await page.goto(link)
      await page.getByText('As it was known at').waitFor()
      expect((await shownTotals())[0]).to.equal('54.20 usd')
      await page.getByRole('button', { name: 'What came since?' }).click()
      await page.getByRole('heading', { name: 'Events that came, or changed' }).waitFor()
      const rows = async (table: string) =>
        (await page.getByRole('table', { name: table }).locator('tbody tr').allInnerTexts()).map((text) =>
          text.replaceAll(/\s+/g, ' ').trim(),
        )
      expect(await rows('What changed, the largest effect first')).to.deep.equal([
        'Plan Prompts 1734567 → 1900000, +165433 5.20 usd 5.70 usd +0.50 1 late event: +265433 1 corrected event: -100000',
        'Due 54.20 usd 54.70 usd +0.50',
      ])
      await page.getByText('Due is 0.50 usd higher than at').waitFor()
      await page.getByText('One line has the same amount as then.').waitFor()
      const events = await rows('Events that came or changed, by the time of their last change')
      expect(events).to.have.length(2)
      expect(events[0]).to.match(/ late .* none 265433 tokens \+265433 Plan Prompts$/)
      expect(events[1]).to.match(/ corrected .* 500000 tokens 400000 tokens -100000 Plan Prompts$/)
    })

    it('sees how each amount came about, with the digits of the API and the query for analysts', async () => {
      await enter(
        `/billing/contracts/${site.world.contract}/preview?at=${instantParameter(site.world.month)}`,
      )
      const { page } = site
      await page.getByText('Not rated').waitFor()
      const preview = await previewOf({ contract_id: site.world.contract, at: site.world.month })
      expect(await shownTotals()).to.include.members(
        [preview.total, preview.credit_total, preview.amount_due].map(
          (amount) => `${fillPlaces(amount, 2)} usd`,
        ),
      )
      const lines = page.locator('.invoice > li')
      expect(await lines.count()).to.equal(preview.lines.length)
      for (const [index, line] of preview.lines.entries()) {
        const shown = lines.nth(index)
        await shown.locator('summary').first().click()
        const steps = (await shown.locator('.steps-of__step').allInnerTexts()).map((text) =>
          text.replaceAll(/\s+/g, ' '),
        )
        const stepOf = (name: string) => steps.find((text) => text.startsWith(`${name} `))
        if (line.query !== null) {
          expect(stepOf('counted')).to.match(new RegExp(`^counted ${line.quantity.replace('.', '\\.')} `))
          expect(await shown.locator('.snippet__text').textContent()).to.equal(line.query)
        }
        expect(stepOf('exact')).to.match(new RegExp(`^exact ${line.exact_amount.replace('.', '\\.')}( |$)`))
        expect(stepOf('rounded')).to.equal(`rounded ${fillPlaces(line.amount, 2)} usd`)
      }
      const days = (startOfMonth(site.world.month, 1) - site.world.month) / DAY_S
      const digits = { 28: '3.5714', 29: '3.4482', 30: '3.3333', 31: '3.2258' }[days] ?? ''
      await page.getByText(`≈ ${digits}`).first().waitFor()
    })

    it('fixes the time of the company as well where its clock was moved', async () => {
      const other = await shareTallyUnderTest()
      const api = new ApiClient(other.url, other.testKey)
      const { id } = await api.create<{ id: string }>('/v2/accounts', { name: 'Ahead' })
      const made = await api.create<{ id: string }>('/v2/contracts', {
        account_id: id,
        currency: 'usd',
        cadence: 'month',
      })
      await api.create('/v2/test/clock/advance', { seconds: 5 * DAY_S })
      await enter(`/billing/contracts/${made.id}/preview`, other.testKey)
      const { page } = site
      await page.getByText('No line has an amount').waitFor()
      await page.getByRole('button', { name: 'Copy link' }).click()
      await page.getByText('Copied').waitFor()
      const link = new URL(await copied())
      const asOf = Date.parse(`${link.searchParams.get('as_of') ?? ''}Z`) / 1_000
      expect(asOf - Date.now() / 1_000).to.be.closeTo(5 * DAY_S, 60)
      await page.goto(link.href)
      await page.getByText('with usage from before').waitFor()
    })

    it('stops a preview of what was known, and the request with it', async () => {
      const known = instantParameter(Math.floor(Date.now() / 1_000) - 60)
      await site.page.route('**/v2/invoice-previews', async (route) => {
        if (route.request().postData()?.includes('known_at') !== true) await route.continue()
        // Otherwise the request waits, as one that reads very many events.
      })
      await enter(`/billing/contracts/${contract}/preview`)
      const { page } = site
      await page.locator('.invoice').waitFor()
      await page.getByText('As of another time').click()
      await page.getByText('may take some seconds').waitFor()
      await page.getByLabel('Known at, UTC').fill(known)
      const ended = page.waitForEvent('requestfailed')
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page.getByRole('button', { name: 'Stop' }).click()
      expect((await ended).failure()?.errorText).to.equal('net::ERR_ABORTED')
      await page.getByText('was not read to its end').waitFor()
      await page.unroute('**/v2/invoice-previews')
      await page.getByRole('button', { name: 'Read it' }).click()
      await page.getByText('As it was known at').waitFor()
    })

    it('says of earlier amounts what they are, until the new ones are there', async () => {
      const known = instantParameter(Math.floor(Date.now() / 1_000) - 60)
      await enter(`/billing/contracts/${contract}/preview?at=${instantParameter(month)}`)
      const { page } = site
      const [stamp, earlier] = [page.getByText('As it was known at'), page.locator('.panel__body--earlier')]
      await page.locator('.invoice').waitFor()
      const showKnown = await holdPreviews(page, (text) => text.includes('known_at'))
      await page.getByText('As of another time').click()
      await page.getByLabel('Known at, UTC').fill(known)
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await earlier.getByText('still the answer from before').waitFor()
      expect(await stamp.count()).to.equal(0)
      showKnown()
      await stamp.waitFor()
      await page.reload()
      await stamp.waitFor()
      await page.unrouteAll()
      const showNow = await holdPreviews(page, (text) => !text.includes('known_at'))
      await page.getByRole('button', { name: 'As it is now' }).click()
      await earlier.waitFor()
      expect(await stamp.isVisible()).to.equal(true)
      showNow()
      await stamp.waitFor({ state: 'detached' })
    })

    it('prints the stamp and the amounts, without what only a screen needs', async () => {
      const known = instantParameter(Math.floor(Date.now() / 1_000) - 60)
      await enter(`/billing/contracts/${contract}/preview?at=${instantParameter(month)}&known_at=${known}`)
      const { page } = site
      const stamp = page.getByText('As it was known at')
      await stamp.waitFor()
      await page.emulateMedia({ media: 'print' })
      expect(await stamp.isVisible()).to.equal(true)
      expect(await page.locator('.totals').isVisible()).to.equal(true)
      for (const hidden of ['#menu', '.shell__head', '.panel__foot', '.times'])
        expect(await page.locator(hidden).first().isVisible(), hidden).to.equal(false)
    })
  })

  describe('the previews of all contracts', () => {
    it('go a month back and forth, and say when there are none', async () => {
      await enter('/billing/invoices')
      const { page } = site
      await page.getByRole('link', { name: 'Globex' }).waitFor()
      const now = Math.floor(Date.now() / 1_000)
      await page.getByRole('button', { name: monthText(startOfMonth(now, -1)) }).click()
      await page.getByRole('link', { name: 'Umbrella' }).first().waitFor({ state: 'detached' })
      await page.getByText('usage without a price').first().waitFor()
      await page.getByRole('button', { name: monthText(startOfMonth(now, -2)) }).click()
      await page.getByText('No contract in force on').waitFor()
      await page.getByRole('button', { name: monthText(startOfMonth(now, -1)) }).click()
      await page.getByRole('button', { name: monthText(now) }).click()
      await page.getByRole('link', { name: 'Umbrella' }).first().waitFor()
      expect(new URL(page.url()).search).to.equal('')
    })

    it('are not called those of another month while that is read', async () => {
      const [at, before] = [startOfMonth(site.world.month, 1) - 1, site.world.month - 1]
      await enter(`/billing/invoices?at=${instantParameter(at)}`)
      const { page } = site
      const heading = page.getByRole('heading', { level: 2 })
      await page.getByRole('link', { name: 'Globex' }).waitFor()
      const show = await holdPreviews(page, (text) => text.includes(`at=${before}`))
      await page.getByRole('button', { name: monthText(before) }).click()
      await page.locator('.panel__body--earlier').waitFor()
      expect(await heading.innerText()).to.equal('Periods')
      expect(await page.getByText('Only the periods that contain').count()).to.equal(0)
      show()
      await page.getByText(`No contract in force on ${utcDay(before)}`).waitFor()
      expect(await heading.innerText()).to.equal(`Periods that contain ${utcDay(before)}`)
    })

    it('say what they leave out, and find the contracts that ended in the month', async () => {
      const [at, end] = [startOfMonth(site.world.month, 1) - 1, site.world.month + 10 * DAY_S]
      const { id: account } = await site.test.create<{ id: string }>('/v2/accounts', { name: 'Hooli' })
      await site.test.create('/v2/contracts', {
        account_id: account,
        currency: 'usd',
        cadence: 'month',
        name: 'Hooli trial',
        starts_at: site.world.month,
        ends_at: end,
      })
      await enter(`/billing/invoices?at=${instantParameter(at)}`)
      const { page } = site
      await page.getByText(`Only the periods that contain ${instantText(at, 'utc')} UTC`).waitFor()
      expect(await page.getByText('Hooli').count()).to.equal(0)
      await page.getByRole('button', { name: `Find contracts that ended in ${monthText(at)}` }).click()
      const ended = page.getByRole('table', { name: /^Contracts that ended in/ })
      await ended.getByText('Hooli', { exact: true }).waitFor()
      expect(await ended.locator('tbody tr').count()).to.equal(1)
      expect(await site.tab.inspect()).to.deep.equal([])
      await ended.getByRole('link', { name: 'Hooli trial' }).click()
      await page.getByRole('heading', { level: 1, name: 'Invoice preview, Hooli trial' }).waitFor()
      await page.getByText(`${periodText(site.world.month, end)}, usage as of`).waitFor()
    })

    it('are saved with the numbers of the API', async () => {
      const at = instantParameter(site.world.month)
      await enter(`/billing/invoices?at=${at}`)
      const { page } = site
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'All of them as CSV' }).click(),
      ])
      const rows = (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
      const { body } = await site.test.get<{ data: (Preview & { contract_id: string; subtotal: string })[] }>(
        `/v2/invoice-previews?at=${site.world.month}`,
      )
      expect(rows).to.have.length(1 + body.data.length)
      for (const { contract_id: id, total, credit_total: credit, amount_due: due } of body.data)
        expect(rows.find((row) => row.startsWith(id))).to.include(`,${total},${credit},${due},`)
    })
  })

  describe('a contract', () => {
    it('is made with lines of all kinds, and shows them in words', async () => {
      await enter(`/billing/contracts?account=${site.world.bare}`)
      const { page } = site
      await page.getByText('No contract.').waitFor()
      await page.getByRole('button', { name: 'New contract' }).click()
      await page.getByLabel('Currency').fill('usd')
      await page.getByLabel('Starts at').fill(new Date().toISOString().slice(0, 8) + '01')
      const line = (number: number) => page.getByRole('group', { name: `Line ${number}`, exact: true })
      const chooser = (number: number, name: string) =>
        line(number).getByRole('combobox', { name, exact: true })
      await chooser(1, 'Rate card').selectOption({ label: 'Standard' })
      const add = async (number: number, kind: string) => {
        await page.getByRole('button', { name: 'Add a line' }).click()
        await chooser(number, 'What it is').selectOption(kind)
      }
      await add(2, 'price')
      await chooser(2, 'Price').selectOption({ label: 'Seats: 12 usd each' })
      await line(2).getByLabel('Quantity').fill('10')
      await add(3, 'minimum')
      await line(3).getByLabel('The smallest total').fill('12x')
      await page.getByText('write it with digits').waitFor()
      expect(await page.getByRole('button', { name: 'Make the contract' }).isDisabled()).to.equal(true)
      await line(3).getByLabel('The smallest total').fill('150')
      await add(4, 'credit')
      await line(4).getByLabel('Credit of each period').fill('20.5')
      await chooser(4, 'It expires').selectOption('period_end')
      expect(await site.tab.inspect()).to.deep.equal([])
      await page.getByRole('button', { name: 'Make the contract' }).click()
      await page.getByText('Ten seats').waitFor({ state: 'detached' })
      const words = page.getByRole('table', { name: 'Lines in words' }).locator('tbody td:first-child')
      await words.first().waitFor()
      expect((await words.allInnerTexts()).sort()).to.deep.equal([
        '20.5 usd of credit a period, which expires with it',
        'At least 150 usd a period',
        'Follows Standard',
        'Seats: 12 usd each × 10',
      ])
    })

    it('has a line of time that arrow keys walk along', async () => {
      await enter(`/billing/contracts/${site.world.contract}`)
      const { page } = site
      await page.getByRole('application', { name: /^Lines of the contract/ }).focus()
      await page.keyboard.press('ArrowDown')
      const said = page.locator('.plot__said')
      await said.getByText('Follows Standard, 10 % off, 1 price of its own').waitFor()
      await page.keyboard.press('ArrowRight')
      expect(await said.textContent()).to.match(
        /^Seats: 12 usd each × 10 from 1 \w+ \d{4} until 16 \w+ \d{4}$/,
      )
    })

    it('is canceled in two steps, which show first what would be due, and goes on again', async () => {
      const { id } = await site.test.create<{ id: string }>('/v2/contracts', {
        account_id: site.world.account,
        currency: 'usd',
        cadence: 'month',
        name: 'To cancel',
        starts_at: startOfMonth(Math.floor(Date.now() / 1_000)),
        lines: [{ minimum_amount: '300' }],
      })
      await enter(`/billing/contracts/${id}`)
      const { page } = site
      await page.getByRole('button', { name: 'Cancel the contract' }).click()
      const go = page.getByRole('dialog').getByRole('button', { name: 'Cancel the contract' })
      expect(await go.isDisabled()).to.equal(true)
      await page.getByRole('radio', { name: 'Now' }).check()
      await page.getByRole('button', { name: 'See what would be due' }).click()
      const shown = page.getByRole('table', { name: /^The period as it stands/ }).locator('tbody tr')
      await shown.nth(1).waitFor()
      expect(await shown.nth(0).innerText()).to.match(/300(\.00)?\s+usd/)
      // The contract's minimum is for the part of the period that is left.
      const { total } = await previewOf({ contract_id: id, cancel_at: Math.floor(Date.now() / 1_000) + 30 })
      const cents = /(\d+)\.?(\d*)/.exec((await shown.nth(1).locator('td').nth(1).innerText()) || '')
      expect(Number(cents?.[0])).to.be.closeTo(Number(total), 0.05)
      await page.getByText('at once, for good: this cannot be taken back').waitFor()
      const word = page.getByLabel('Type cancel to go on')
      await word.fill('cancel')
      await page.getByRole('radio', { name: 'At the end of the period' }).check()
      await page.getByLabel('Reason').fill(HOSTILE.turned)
      await page.getByRole('button', { name: 'See what would be due' }).click()
      expect(await word.inputValue()).to.equal('')
      await word.fill('cancel')
      await go.click()
      await page.getByText('It is canceled, and ends').waitFor()
      await page.getByText('evil⟨202E⟩txt.exe').waitFor()
      await page.getByRole('button', { name: 'Take the cancellation back' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Take the cancellation back' }).click()
      await page.getByText('It is canceled, and ends').waitFor({ state: 'detached' })
      const { body } = await site.test.get<{ cancellation: unknown }>(`/v2/contracts/${id}`)
      expect(body.cancellation).to.equal(null)
    })

    it('is canceled only when what would be due is there, and at the end that was shown', async () => {
      const start = startOfMonth(Math.floor(Date.now() / 1_000))
      const { id } = await site.test.create<{ id: string }>('/v2/contracts', {
        account_id: site.world.account,
        currency: 'usd',
        cadence: 'month',
        starts_at: start,
      })
      await enter(`/billing/contracts/${id}`)
      const { page } = site
      const go = page.getByRole('dialog').getByRole('button', { name: 'Cancel the contract' })
      const word = page.getByLabel('Type cancel to go on')
      const see = () => page.getByRole('button', { name: 'See what would be due' }).click()
      const show = await holdPreviews(page, (text) => text.includes('cancel_at'))
      await page.getByRole('button', { name: 'Cancel the contract' }).click()
      await see()
      await word.fill('cancel')
      await page.getByRole('dialog').getByText('Reading…').waitFor()
      expect(await go.isDisabled()).to.equal(true)
      show()
      await page.getByRole('table', { name: /^The period as it stands/ }).waitFor()
      await page.getByRole('radio', { name: 'At a time' }).check()
      await page.getByLabel('It ends at, UTC').fill('2020-01-01')
      await see()
      await word.fill('cancel')
      await page.getByText('lies in the past').waitFor()
      expect(await go.isDisabled()).to.equal(true)
      await page.getByRole('radio', { name: 'At the end of the period' }).check()
      await see()
      await page.getByText(`The contract ends at ${instantText(startOfMonth(start, 1), 'utc')} UTC`).waitFor()
      await word.fill('cancel')
      await go.click()
      await page.getByText('It is canceled, and ends').waitFor()
      const { body } = await site.test.get<{ cancellation: { mode: string; cancel_at: number } }>(
        `/v2/contracts/${id}`,
      )
      expect(body.cancellation).to.include({ mode: 'at', cancel_at: startOfMonth(start, 1) })
    })

    it('is canceled before it begins, and then never begins', async () => {
      const { id } = await site.test.create<{ id: string }>('/v2/contracts', {
        account_id: site.world.account,
        currency: 'usd',
        cadence: 'month',
        starts_at: Math.floor(Date.now() / 1_000) + 30 * DAY_S,
      })
      await enter(`/billing/contracts/${id}`)
      const { page } = site
      await page.getByRole('button', { name: 'Cancel the contract' }).click()
      await page.getByRole('radio', { name: 'Now' }).check()
      await page.getByRole('button', { name: 'See what would be due' }).click()
      await page.getByText('The contract never begins, so nothing is due.').waitFor()
      await page.getByLabel('Type cancel to go on').fill('cancel')
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel the contract' }).click()
      await page.getByText('It was canceled, and ended').waitFor()
    })

    it('has no button that writes for a key that may only read', async () => {
      const { key } = await site.test.create<{ key: string }>('/v2/api-keys', {
        name: 'reader of contracts',
        permissions: ['read:all'],
      })
      await enter(`/billing/contracts/${site.world.contract}`, key)
      await site.page.getByText('Ten seats, to begin with').waitFor()
      await site.page.getByRole('link', { name: 'Invoice preview' }).waitFor()
      expect(await site.page.getByRole('button', { name: /^Cancel/ }).count()).to.equal(0)
      await site.page.goto('/console/billing/contracts')
      await site.page.getByText('Globex 2026').waitFor()
      expect(await site.page.getByRole('button', { name: 'New contract' }).count()).to.equal(0)
    })

    it('shows texts of others as texts', async () => {
      await enter('/billing/contracts')
      const { page } = site
      await page.getByRole('link', { name: HOSTILE.markup }).click()
      await page.getByRole('heading', { level: 1, name: HOSTILE.markup }).waitFor()
      await page.getByText(HOSTILE.formula).waitFor()
      await page.getByText(HOSTILE.link).waitFor()
      await page.getByRole('link', { name: 'Umbrella⟨202E⟩gro.ltd' }).waitFor()
      expect(await page.locator('img, iframe').count()).to.equal(0)
    })
  })
})
