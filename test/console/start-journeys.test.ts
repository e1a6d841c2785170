import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { requirePrograms, runIn } from '../support/programs.ts'
import { until } from '../support/until.ts'
import { useConsole } from './use-console.ts'

/** How the text of each language is run: the program, its options before the text, and the option that shows its version. */
const PROGRAMS = {
  curl: ['bash', ['-c'], '--version'],
  Node: [process.execPath, ['--input-type=module', '-e'], '--version'],
  Python: ['python3', ['-c'], '--version'],
} as const

describe('first steps in the console', function () {
  this.timeout(120_000)
  const site = useConsole()
  let page: Page
  beforeEach(() => {
    page = site.page
  })

  const enter = (path: string) => site.enter(path, site.tally.key)
  /** Enters, or goes to another page when the tab is signed in. */
  const enterOnce = (path: string) =>
    page.url() === 'about:blank' ? enter(path) : page.goto(`/console${path}`)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  /** An account with a grant of 10,000 tokens, and usage of before. */
  const makeSubject = async (used?: string) => {
    const { id: account } = await site.live.create<{ id: string }>('/v2/accounts', { name: 'Stepping' })
    const { id: metric } = await site.live.create<{ id: string }>('/v2/metrics', {
      name: 'tokens',
      measurement_units: 'tokens',
    })
    const hourAgo = Math.floor(Date.now() / 1_000) - 3_600
    const common = { account_id: account, metric_id: metric }
    await site.live.create('/v2/grants', { ...common, amount: '10000', effective_at: 0 })
    if (used !== undefined)
      await site.live.create('/v2/events', { ...common, quantity: used, occurred_at: hourAgo })
    return { account, metric }
  }
  const balance = () => page.locator('.steps__balance .decimal').first().textContent()
  const startOf = ({ account, metric }: { account: string; metric: string }) =>
    `/start?account=${account}&metric=${metric}`

  it('show another event that was there before as what it is, and keep theirs over a reload', async () => {
    await enter(startOf(await makeSubject('8')))
    await page.getByRole('heading', { name: 'Send an event' }).waitFor()
    await until(async () => (await balance()) === '9992')
    await page.getByRole('heading', { name: 'Waiting for the event' }).waitFor()
    const command = await page.locator('.snippet__text').first().textContent()
    await page.reload()
    await page.getByRole('heading', { name: 'Waiting for the event' }).waitFor()
    expect(await page.locator('.snippet__text').first().textContent()).to.equal(command)
    await button('Send one from here').click()
    await page.getByRole('heading', { name: 'The balance fell' }).waitFor({ timeout: 5_000 })
    expect(await balance()).to.equal('5184')
    await page.reload()
    await button('Send one from here').click()
    await page.getByText('Tally has it.').waitFor()
    await page.getByRole('heading', { name: 'The balance fell' }).waitFor()
    expect(await balance()).to.equal('5184')
    await button('Another event, of now').click()
    await page.getByRole('heading', { name: 'Waiting for the event' }).waitFor()
    expect(await page.locator('.snippet__text').first().textContent()).to.not.equal(command)
  })

  it('take the time of now, and not that of the sign-in', async () => {
    const path = startOf(await makeSubject())
    await enter('/accounts')
    await page.getByText('Stepping').first().waitFor()
    const seconds = 100
    // As if it were signed in long ago.
    await page.evaluate(`(() => {
      const keys = JSON.parse(sessionStorage['tally.keys'])
      for (const { caller } of keys.all) caller.now -= ${seconds}
      sessionStorage['tally.keys'] = JSON.stringify(keys)
    })()`)
    await page.goto(`/console${path}`)
    await page.getByRole('heading', { name: 'Send an event' }).waitFor()
    const at = JSON.parse(new URL(page.url()).searchParams.get('at') ?? '0') as number
    expect(Date.now() / 1_000 - at).to.be.below(seconds / 2)
  })

  it('go on with what is missing after a half of it failed', async () => {
    await enter('/start')
    let isRefused = true
    await page.route(/\/v2\/grants$/, (route) =>
      isRefused ? route.fulfill({ status: 422, body: 'not now' }) : route.continue(),
    )
    await button('Make them for me').click()
    await page.getByText('not now').waitFor()
    isRefused = false
    await button('Try again').click()
    await page.getByRole('heading', { name: 'Send an event' }).waitFor()
    await until(async () => (await balance()) === '10000')
    const { body } = await site.live.get<{ data: unknown[] }>('/v2/accounts?query=Try%20it')
    expect(body.data).to.have.length(1)
  })

  it('say what usually is wrong after half a minute, and wait again after ten', async () => {
    await page.clock.install()
    await enter(startOf(await makeSubject()))
    await page.getByText('Nothing yet. This page asks every second.').waitFor()
    expect(await page.getByText('401:').count()).to.equal(0)
    await page.clock.fastForward(31_000)
    await page.getByText('401: the key is wrong').waitFor()
    await page.getByText('the gateway takes events').waitFor()
    await page.getByText('belongs to another company').waitFor()
    await page.route(/\/v2\/events$/, (route) => route.fulfill({ status: 404, body: 'not found' }))
    await button('Send one from here').click()
    await page.getByText('This address takes no events').waitFor()
    await page.unroute(/\/v2\/events$/)
    await page.clock.fastForward(600_000)
    await button('Wait again').click()
    await page.getByText('Nothing yet. This page asks every second.').waitFor()
    await button('Send one from here').click()
    await page.getByRole('heading', { name: 'The balance fell' }).waitFor()
  })

  for (const [language, [program, options, version]] of Object.entries(PROGRAMS))
    it(`take an event by the shown ${language} command, and the balance follows within two seconds`, async function () {
      requirePrograms(this, 'REQUIRE_PYTHON', [
        [program, version],
        ['curl', '--version'],
      ])
      const sendAndWait = async (): Promise<number> => {
        await enterOnce(startOf(await makeSubject()))
        await until(async () => (await balance()) === '10000')
        if (language !== 'curl') await page.getByRole('radio', { name: language }).check()
        const command = (await page.locator('.snippet__text').first().textContent()) ?? ''
        const output = await runIn('.', program, [...options, command], { TALLY_KEY: site.tally.key })
        const answeredAt = Date.now()
        expect(output).to.match(/event_[0-9a-f]{32}/)
        await until(async () => (await balance()) === '5192')
        return Date.now() - answeredAt
      }
      // A busy machine may delay one of them.
      let tookMs = await sendAndWait()
      for (let more = 0; more < 2 && tookMs >= 2_000; more++) tookMs = await sendAndWait()
      expect(tookMs).to.be.below(2_000)
      await page.getByRole('heading', { name: 'The balance fell' }).waitFor()
    })
})
