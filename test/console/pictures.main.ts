import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { chromium } from 'playwright-core'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { ApiClient } from '../support/api-client.ts'
import { startTally } from '../support/start-tally.ts'
import { programOfBrowser, signIn } from './use-browser.ts'

const FOLDER = path.join(PROJECT_ROOT, 'docs/images')
const SEED = 7
const SIZE = { width: 1_200, height: 790 }

/** Makes the pictures of the README: the page of an account of seed data, in light and dark. */
const tally = await startTally()
try {
  const api = new ApiClient(tally.url, tally.testKey)
  await api.create('/v2/test/seed', { seed: SEED })
  await api.create('/v2/test/drain', { timeout: 20 })
  const { body } = await api.get<{ id: string }>(`/v2/accounts/external-id/seed-${SEED}-account-1`)
  await takePictures(`/console/accounts/${body.id}`)
} finally {
  await tally.discard()
}

async function takePictures(address: string): Promise<void> {
  const program = programOfBrowser()
  if (program === undefined) throw new Error('no browser: name it in CHROMIUM, or put chromium on the PATH')
  const browser = await chromium.launch({
    executablePath: program,
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
  const page = await browser.newPage({ baseURL: tally.url, viewport: SIZE })
  await page.goto(address)
  await signIn({ page }, tally.testKey)
  await page.getByRole('heading', { name: /^Balance by day/ }).waitFor()
  await page.getByRole('application').nth(1).waitFor() // both plots are drawn
  await mkdir(FOLDER, { recursive: true })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.waitForLoadState('networkidle')
    await page.screenshot({ path: path.join(FOLDER, `console-${colorScheme}.png`) })
  }
  await browser.close()
}
