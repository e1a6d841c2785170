import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { type RouteName, ROUTES } from '../../console/src/app/routes.ts'
import { type TallyUnderTest } from '../support/tally-under-test.ts'
import { type ConsoleWorld, shareConsole } from './console-world.ts'
import { accountStates } from './states/accounts.ts'
import { companyStates } from './states/company.ts'
import { contractStates } from './states/contracts.ts'
import { exploreStates } from './states/explore.ts'
import { pricesStates } from './states/prices.ts'
import { startStates } from './states/start.ts'
import type { StatesOf } from './states/state.ts'
import { closeBrowser, type Look, openTab, signIn, type WatchedPage } from './use-browser.ts'

/** Every page of the console. A page that is missing here fails to compile. */
const STATES: StatesOf<RouteName> = {
  ...startStates,
  ...accountStates,
  ...exploreStates,
  ...pricesStates,
  ...contractStates,
  ...companyStates,
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
    await tab.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
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
