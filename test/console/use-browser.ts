import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { RUN_FOLDER } from '../run/ask-run.ts'
import { skipFor } from '../run/pending.ts'
import { until } from '../support/until.ts'

let opened: Promise<Browser> | undefined

/**
 * Finds a browser for the suite: the one that CHROMIUM names, or chromium on the PATH. All files of a process share it.
 * Without one the suite is pending; with REQUIRE_CHROMIUM=1 it fails.
 */
export async function useBrowser(suite: Mocha.Context): Promise<Browser> {
  const program = programOfBrowser()
  if (program === undefined) return pending(suite, 'chromium is not on the PATH')
  opened ??= chromium.launch({
    executablePath: program,
    // Chromium refuses to run as root otherwise. It shows no page of others here.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
  return opened
}

/** Closes the browser of this process. */
export async function closeBrowser(): Promise<void> {
  const browser = await opened
  opened = undefined
  await browser?.close()
}

/** The browser that CHROMIUM names, or chromium on the PATH; undefined if there is none. */
export function programOfBrowser(): string | undefined {
  const named = process.env['CHROMIUM']
  if (named !== undefined && named !== '') return named
  const folders = (process.env['PATH'] ?? '').split(path.delimiter)
  return folders.map((folder) => path.join(folder, 'chromium')).find((program) => existsSync(program))
}

function pending(suite: Mocha.Context, reason: string): never {
  if (process.env['REQUIRE_CHROMIUM'] === '1') throw new Error(`REQUIRE_CHROMIUM=1, and ${reason}`)
  return skipFor(suite, `CHROMIUM is not set, and ${reason}`)
}

export interface Look {
  scheme: 'light' | 'dark'
  width: number
}

const HEIGHT = 900

/** A tab that notes everything that must not happen. */
export interface WatchedPage {
  page: Page
  context: BrowserContext
  /** Reports of the policy, requests to other addresses, errors, dialogs. */
  faults: string[]
  /** Shows the page in another width and colour scheme, once it has read what it shows. */
  look(look: Look): Promise<void>
  /** Whatever is too wide, and reports of the policy. */
  breaks(): Promise<string[]>
  /** What breaks, and what axe has against the page: by all its rules, or by those that a colour scheme may break. */
  inspect(rules?: Rules): Promise<string[]>
  /** Saves a picture in the folder of the run. */
  picture(name: string): Promise<void>
  close(): Promise<void>
}

/** Notes reports of the policy in the page itself, from before its first script. */
const NOTE_REPORTS = `
  window.__reports = []
  document.addEventListener('securitypolicyviolation', (event) => {
    window.__reports.push(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample)
  })`

/** Elements that are wider than the window. */
const TOO_WIDE = `(() => {
  const width = document.documentElement.clientWidth
  if (document.documentElement.scrollWidth <= width) return []
  return [...document.querySelectorAll('body *')]
    .filter((element) => element.getBoundingClientRect().right > width + 0.5)
    .slice(0, 3)
    .map((element) => 'too wide: ' + element.tagName + ' ' + element.className)
})()`

const IS_READ = `document.querySelector('.skeleton, .panel__body--earlier') === null`

/** Which rules of axe are asked for. */
type Rules = 'all' | 'colours'

const RUN_ONLY: Record<Rules, object> = {
  all: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] },
  colours: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
}

const runAxe = (rules: Rules): string => `axe
  .run(document, {
    runOnly: ${JSON.stringify(RUN_ONLY[rules])}, resultTypes: ['violations'], selectors: false, preload: false,
  })
  .then(({ violations }) =>
    violations.map(({ id, nodes }) => 'axe: ' + id + ': ' + nodes.slice(0, 3).map(({ html }) => html).join(' | ')),
  )`

const axeSource = async (): Promise<string> =>
  readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Opens a tab of its own, in which nobody is signed in. */
export async function openTab(browser: Browser, url: string): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1_440, height: HEIGHT }, baseURL: url })
  await context.addInitScript(NOTE_REPORTS)
  const faults: string[] = []
  context.on('page', (page) => {
    watch(page, url, faults)
  })
  const page = await context.newPage()
  const look = async ({ scheme, width }: Look) => {
    await page.emulateMedia({ colorScheme: scheme })
    await page.setViewportSize({ width, height: HEIGHT })
    await until(() => page.evaluate<boolean>(IS_READ))
  }
  const breaks = async () => [
    ...(await page.evaluate<string[]>(TOO_WIDE)),
    ...(await page.evaluate<string[]>('window.__reports.splice(0)')).map((report) => `policy: ${report}`),
  ]
  const inspect = async (rules: Rules = 'all') => {
    if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(await axeSource())
    return [...(await page.evaluate<string[]>(runAxe(rules))), ...(await breaks())]
  }
  const picture = async (name: string) => {
    const folder = path.join(process.env['CONSOLE_PICTURES'] ?? process.env[RUN_FOLDER] ?? '.', 'pictures')
    await mkdir(folder, { recursive: true })
    await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true })
  }
  return { page, context, faults, look, breaks, inspect, picture, close: () => context.close() }
}

function watch(page: Page, url: string, faults: string[]): void {
  page.on('request', (request) => {
    const target = request.url()
    if (!target.startsWith(`${url}/`) && !target.startsWith('blob:')) faults.push(`a request to ${target}`)
  })
  page.on('console', (message) => {
    // The browser itself writes a line for each answer that is an error.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => {
    faults.push(`an error: ${error.message}`)
  })
  page.on('dialog', (dialog) => {
    // The browser asks before something that was typed is lost. A test goes on.
    if (dialog.type() === 'beforeunload') {
      void dialog.accept()
      return
    }
    faults.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
}

/** Makes all answers of the page two minutes older, and has it seen again, as after another tab. */
export const seeAgain = (page: Page): Promise<unknown> =>
  page.evaluate(`(() => {
    const before = Date.now
    Date.now = () => before() + 120_000
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
  })()`)

/** Signs in on the page that is shown. */
export async function signIn({ page }: Pick<WatchedPage, 'page'>, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
