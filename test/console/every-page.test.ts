import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { type RouteName, ROUTES } from '../../console/src/app/routes.ts'
import { type TallyUnderTest } from '../support/tally-under-test.ts'
import { type ConsoleWorld, shareConsole } from './console-world.ts'
import { closeBrowser, type Look, openTab, signIn, type WatchedPage } from './use-browser.ts'

/** A state of a page: its address, what is seen once it is there, and what is done before it is looked at. */
interface State {
  path: (world: ConsoleWorld) => string
  seen: string
  prepare?: (tab: WatchedPage) => Promise<void>
}

const click =
  (name: string) =>
  async ({ page }: WatchedPage) => {
    await page.getByRole('button', { name, exact: true }).click()
  }

/** Every page of the console, in the states that look different. A page that is missing here fails to compile. */
const STATES: Record<RouteName, Record<string, State>> = {
  'sign-in': { plain: { path: () => '/sign-in', seen: 'Where is my key?' } },
  start: {
    empty: { path: () => '/start', seen: 'An account and a metric' },
    chosen: {
      path: ({ account, metric }) => `/start?account=${account}&metric=${metric}`,
      seen: 'The balance fell',
    },
    waiting: {
      path: ({ bare, metric }) => `/start?account=${bare}&metric=${metric}`,
      seen: 'Waiting for the event',
    },
  },
  accounts: {
    list: { path: () => '/accounts', seen: 'Acme production' },
    'new-account': { path: () => '/accounts', seen: 'Acme production', prepare: click('New account') },
    found: { path: () => '/accounts?query=ACME-P&sort=customer_name', seen: 'Acme production' },
    nothing: { path: () => '/accounts?query=%25', seen: 'Nothing found for' },
    search: {
      path: () => '/accounts',
      seen: 'Acme production',
      prepare: async ({ page }) => {
        await page.keyboard.press('/')
        await page.getByRole('searchbox', { name: 'Search for' }).fill('acme-prod')
        await page.getByRole('link', { name: 'Acme production account' }).waitFor()
      },
    },
  },
  account: {
    balance: { path: ({ account }) => `/accounts/${account}`, seen: 'The yearly credit' },
    table: {
      path: ({ account }) => `/accounts/${account}`,
      seen: 'The yearly credit',
      prepare: async ({ page }) => {
        const radios = page.getByRole('radio', { name: 'Table' })
        await radios.nth(1).waitFor({ state: 'attached' }) // the balance has a plot, and the usage
        for (const radio of await radios.all()) await radio.check()
        await page.getByRole('columnheader', { name: 'Quantity' }).waitFor()
      },
    },
    currency: { path: ({ account }) => `/accounts/${account}?source=usd`, seen: 'Grants, usd' },
    bare: { path: ({ bare }) => `/accounts/${bare}`, seen: 'Nothing was granted.' },
    grant: {
      path: ({ account }) => `/accounts/${account}`,
      seen: 'The yearly credit',
      prepare: click('Grant'),
    },
    missing: { path: () => `/accounts/account_${'0'.repeat(32)}`, seen: 'There is no account' },
  },
}

const LOOKS: Look[] = (['light', 'dark'] as const).flatMap((scheme) =>
  [375, 1_440].map((width) => ({ scheme, width })),
)

describe('every page of the console, four ways', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let browser: Browser
  let world: ConsoleWorld
  let tab: WatchedPage

  before(async function () {
    ;({ tally, browser, world } = await shareConsole(this))
    tab = await openTab(browser, tally.url)
    await tab.page.goto('/console')
    await signIn(tab, tally.testKey)
    await tab.page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor()
  })
  after(async () => {
    await closeBrowser()
  })

  it('is named by its route', () => {
    expect(Object.keys(STATES).sort()).to.deep.equal(Object.keys(ROUTES).sort())
  })

  for (const [route, states] of Object.entries(STATES))
    for (const [state, { path, seen, prepare }] of Object.entries(states))
      it(`breaks no rule: ${route}, ${state}`, async () => {
        const { page, faults } = tab
        await page.goto(`/console${path(world)}`)
        await page.getByText(seen).first().waitFor()
        await prepare?.(tab)
        for (const look of LOOKS) {
          await tab.look(look)
          await tab.picture(`${route}-${state}-${look.scheme}-${look.width}`)
          const found = [...(await tab.inspect()), ...faults.splice(0)]
          expect(found, `${look.scheme}, ${look.width} px`).to.deep.equal([])
        }
      })
})
