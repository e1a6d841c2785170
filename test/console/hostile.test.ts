import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Browser, Download } from 'playwright-core'
import { BASE, ROUTES } from '../../console/src/app/routes.ts'
import { ApiClient } from '../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { HOSTILE } from './hostile-texts.ts'
import { closeBrowser, openTab, signIn, useBrowser, type WatchedPage } from './use-browser.ts'
import { HOSTILE_TEXTS, type HostileIds, makeHostileIds } from './worlds/hostile.ts'

/** What no page of the console has: the page itself is made of one script and no picture that is loaded. */
const FOREIGN = `[...document.querySelectorAll('img, iframe, object, embed, base, meta[http-equiv], script:not([src^="/console/assets/"]), a[href^="javascript"], [onerror]')]
  .map((element) => 'foreign: ' + element.outerHTML.slice(0, 200))`

/** Every word that any page takes from its address. */
const WORDS = [
  'query',
  'sort',
  'source',
  'from',
  'to',
  'at',
  'account',
  'metric',
  'resource_id',
  'api_key_id',
  'grants',
  'property',
  'value',
  'aggregation',
  'period',
  'group_by',
  'split',
  'status',
  'as_of',
  'known_at',
  'since',
  'event',
  'revision',
  'unit',
  'tab',
]

describe('the console in a hostile world', function () {
  this.timeout(240_000)
  let tally: TallyUnderTest
  let browser: Browser
  let api: ApiClient
  let tab: WatchedPage

  before(async function () {
    browser = await useBrowser(this)
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.testKey)
    tab = await openTab(browser, tally.url)
    await tab.page.goto('/console/accounts')
    await signIn(tab, tally.testKey)
    await tab.page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor()
    await tab.page.setViewportSize({ width: 375, height: 900 })
  })
  after(async () => {
    await closeBrowser()
  })

  /** Opens a page, and finds what others could do by their texts. */
  const faultsAt = async (path: string): Promise<string[]> => {
    const { page } = tab
    await page.goto(BASE + path)
    await page.locator('h1').waitFor()
    await tab.look({ scheme: 'light', width: 375 })
    const address = new URL(page.url()).pathname
    return [
      ...tab.faults.splice(0),
      ...(await tab.breaks()),
      ...(await page.evaluate<string[]>(FOREIGN)),
      ...(address === new URL(BASE + path, tally.url).pathname ? [] : [`it went to ${page.url()}`]),
    ].map((fault) => `${path.slice(0, 80)}: ${fault}`)
  }

  for (const [kind, texts] of Object.entries(HOSTILE_TEXTS))
    it(`shows ${kind} of others as text on every page, and in every file`, async () => {
      const ids = await makeHostileIds(api, texts)
      const faults: string[] = []
      const shown: string[] = []
      for (const [route, path] of Object.entries(ROUTES)) {
        if (route === 'sign-in') continue
        faults.push(...(await faultsAt(filled(path, ids))))
        const text = await tab.page.evaluate<string>('document.body.textContent')
        if (text.includes(texts.name)) shown.push(route)
        for (const button of await tab.page.getByRole('button', { name: /CSV/ }).all()) {
          const [file] = await Promise.all([tab.page.waitForEvent('download'), button.click()])
          faults.push(...(await formulasIn(file)).map((cell) => `${route}: a formula: ${cell}`))
        }
      }
      expect(faults).to.deep.equal([])
      expect(shown).to.include.members(['accounts', 'account', 'keys', 'trail'])
    })

  it('takes nothing from an address but text', async () => {
    const faults: string[] = []
    for (const word of [HOSTILE.markup, HOSTILE.link]) {
      const query = new URLSearchParams(Object.fromEntries(WORDS.map((name) => [name, word]))).toString()
      for (const path of Object.values(ROUTES)) {
        const hostile = path.replaceAll(/:\w+/g, encodeURIComponent(word))
        faults.push(...(await faultsAt(`${hostile}?${query}`)))
      }
    }
    expect(faults).to.deep.equal([])
  })

  it('shows what the server says as text', async () => {
    await tab.page.route(/\/v2\/(accounts|audit-trail|api-keys)/, (route) =>
      route.fulfill({
        status: 422,
        contentType: 'text/plain',
        body: `${HOSTILE.markup} ${HOSTILE.turned} ${HOSTILE.long}`,
      }),
    )
    for (const path of ['/accounts', '/trail', '/keys']) {
      expect(await faultsAt(path)).to.deep.equal([])
      await tab.page.getByRole('alert').getByText(`${HOSTILE.markup} evil⟨202E⟩txt.exe`).first().waitFor()
    }
    await tab.page.unroute(/\/v2\/(accounts|audit-trail|api-keys)/)
  })
})

/** The path of a route with the ids of hostile resources. */
const filled = (path: string, ids: HostileIds): string =>
  path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const id = ids[name]
    if (id === undefined) throw new Error(`worlds/hostile.ts makes nothing for the parameter ${name}`)
    return id
  })

/** The cells of a CSV file that a spreadsheet would run. */
async function formulasIn(file: Download): Promise<string[]> {
  const text = (await readFile(await file.path(), 'utf8')).replace(/^\uFEFF/, '')
  const cells = [...text.matchAll(/("(?:[^"]|"")*"|[^,\r\n]*)(?:,|\r\n)/g)].map(([, cell = '']) =>
    cell.replace(/^"([^]*)"$/, '$1'),
  )
  expect(cells.length).to.be.greaterThan(0)
  return cells.filter((cell) => /^[=+\-@\t\r]/.test(cell) && !/^-\d+(\.\d+)?$/.test(cell))
}
