import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { ApiClient } from '../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { closeBrowser, openTab, signIn, useBrowser, type WatchedPage } from './use-browser.ts'

/** The console of a Tally, as the tests of a suite use it. What it has is there once the hooks of the suite have run. */
interface ConsoleSite<World> {
  readonly browser: Browser
  readonly tally: TallyUnderTest
  /** The API of the live company, in which nothing is made before the tests. */
  readonly live: ApiClient
  /** The API of the test company. */
  readonly test: ApiClient
  /** The data that are made once for the suite. */
  readonly world: World
  /** The tab of the test that runs. */
  readonly tab: WatchedPage
  readonly page: Page
  /** Opens a page, and signs in: with the key of the test company unless another one is given. */
  enter: (path: string, key?: string) => Promise<void>
}

/**
 * Gives the tests of a suite a browser, companies of a shared Tally with data, and each test a tab of its own, in which
 * nothing may happen that must not. The suite is pending without a browser; see useBrowser.
 *
 * @param makeWorld makes the data
 */
export function useConsole<World = undefined>(
  makeWorld?: (tally: TallyUnderTest) => Promise<World>,
): ConsoleSite<World> {
  let shared: Pick<ConsoleSite<World>, 'browser' | 'tally' | 'live' | 'test' | 'world'>
  let tab: WatchedPage

  before(async function () {
    const browser = await useBrowser(this)
    const tally = await shareTallyUnderTest()
    shared = {
      browser,
      tally,
      live: new ApiClient(tally.url, tally.key),
      test: new ApiClient(tally.url, tally.testKey),
      world: (await makeWorld?.(tally)) as World,
    }
  })
  after(closeBrowser)
  beforeEach(async () => {
    tab = await openTab(shared.browser, shared.tally.consoleUrl)
  })
  afterEach(async () => {
    await tab.close()
    expect(tab.faults).to.deep.equal([])
  })

  return {
    get browser() {
      return shared.browser
    },
    get tally() {
      return shared.tally
    },
    get live() {
      return shared.live
    },
    get test() {
      return shared.test
    },
    get world() {
      return shared.world
    },
    get tab() {
      return tab
    },
    get page() {
      return tab.page
    },
    enter: async (path, key = shared.tally.testKey) => {
      await tab.page.goto(`/console${path}`)
      await signIn(tab, key)
    },
  }
}
