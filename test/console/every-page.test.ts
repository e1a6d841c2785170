import { expect } from 'chai'
import { type RouteName, ROUTES } from '../../console/src/app/routes.ts'
import { shareTallyUnderTest } from '../support/tally-under-test.ts'
import { type ConsoleWorld, makeConsoleWorld } from './console-world.ts'
import { accountStates } from './states/accounts.ts'
import { companyStates, TRAIL_ROWS } from './states/company.ts'
import { contractStates } from './states/contracts.ts'
import { exploreStates } from './states/explore.ts'
import { pricesStates } from './states/prices.ts'
import { startStates } from './states/start.ts'
import type { StatesOf } from './states/state.ts'
import { closeBrowser, type Look, openTab, signIn, useBrowser, type WatchedPage } from './use-browser.ts'

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

/**
 * Goes to an address as a link does. A load of everything for each state would cost more than all that is looked at.
 * In between nothing is shown, so that nothing of the state before stays, but for the dialog of the search.
 */
async function goTo({ page }: WatchedPage, path: string): Promise<void> {
  const push = (to: string) =>
    page.evaluate(`history.pushState(null, '', ${JSON.stringify(`/console${to}`)})`)
  await push('/nothing')
  await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor()
  if ((await page.locator('dialog').count()) > 0) await page.reload()
  await push(path)
}

describe('every page of the console, four ways', function () {
  this.timeout(120_000)
  let world: ConsoleWorld
  let tab: WatchedPage

  before(async function () {
    const browser = await useBrowser(this)
    const tally = await shareTallyUnderTest()
    world = await makeConsoleWorld(tally)
    tab = await openTab(browser, tally.url)
    await tab.page.route(/\/v2\/audit-trail\?/, (route) =>
      route.continue({ url: route.request().url().replace('limit=100', `limit=${TRAIL_ROWS}`) }),
    )
    await tab.page.goto('/console')
    await signIn(tab, tally.testKey)
    await tab.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  })
  after(closeBrowser)

  it('is named by its route', () => {
    expect(Object.keys(STATES).sort()).to.deep.equal(Object.keys(ROUTES).sort())
  })

  for (const [route, states] of Object.entries(STATES))
    for (const [state, { path, seen, prepare }] of Object.entries(states))
      it(`breaks no rule: ${route}, ${state}`, async () => {
        const { page, faults } = tab
        await goTo(tab, path(world))
        await page.getByText(seen).first().waitFor()
        await prepare?.(tab)
        for (const look of LOOKS) {
          await tab.look(look)
          // Of another colour scheme only colours differ.
          const rules = look.scheme === 'light' ? 'all' : 'colours'
          const found = [...(await tab.inspect(rules)), ...faults.splice(0)]
          if (found.length > 0 || process.env['CONSOLE_PICTURES'] !== undefined)
            await tab.picture(`${route}-${state}-${look.scheme}-${look.width}`)
          expect(found, `${look.scheme}, ${look.width} px`).to.deep.equal([])
        }
      })
})
