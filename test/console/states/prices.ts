import type { ConsoleWorld } from '../console-world.ts'
import { click, type StatesOf } from './state.ts'

const NOW = () => Math.floor(Date.now() / 1_000).toString()
const cardPath = ({ prices: { card } }: ConsoleWorld) => `/billing/rate-cards/${card}`
const changeOf = ({ prices: { rate, metric, prices } }: ConsoleWorld) =>
  encodeURIComponent(
    JSON.stringify({ end: [rate], add: [{ metric_id: metric, price_id: prices.graduated }] }),
  )

export const pricesStates: StatesOf<'products' | 'price' | 'rate-cards' | 'rate-card' | 'simulate'> = {
  products: {
    list: { path: () => '/billing/products', seen: '0.01 usd each' },
    'new-product': { path: () => '/billing/products', seen: '0.01 usd each', prepare: click('New product') },
    'new-price': {
      path: () => '/billing/products',
      seen: '0.01 usd each',
      prepare: async ({ page }) => {
        await page.getByRole('button', { name: 'New price' }).first().click()
        await page.getByLabel('Model').selectOption('graduated')
        await page.getByLabel('Currency').fill('usd')
        await page.getByLabel('Tier 1, up to').fill('1000')
        await page.getByLabel('Tier 1, amount of a unit').fill('0.3')
        await page.getByLabel('Tier 2, amount of a unit').fill('0.1')
        await page.getByRole('application').waitFor()
      },
    },
  },
  price: {
    tiers: {
      path: ({ prices }) => `/billing/prices/${prices.prices.graduated}`,
      seen: 'Step at its beginning',
      prepare: async ({ page }) => {
        await page.getByLabel('What do so many cost?').fill('1500')
        await page.getByText('before a discount').waitFor()
      },
    },
    table: {
      path: ({ prices }) => `/billing/prices/${prices.prices.package}`,
      seen: 'Amount in usd',
      prepare: async ({ page }) => {
        await page.getByRole('radio', { name: 'Table' }).check()
        await page.getByRole('columnheader', { name: 'Above' }).waitFor()
      },
    },
    volume: { path: ({ prices }) => `/billing/prices/${prices.prices.volume}`, seen: 'One tier prices all.' },
    flat: { path: ({ prices }) => `/billing/prices/${prices.prices.flat}`, seen: 'nothing to draw' },
    missing: { path: () => `/billing/prices/price_${'0'.repeat(32)}`, seen: 'There is no price' },
  },
  'rate-cards': {
    list: { path: () => '/billing/rate-cards', seen: 'Standard' },
    new: {
      path: () => '/billing/rate-cards',
      seen: 'Standard',
      prepare: async ({ page }) => {
        await page.getByRole('button', { name: 'New rate card' }).click()
        await page.getByLabel('Currency').fill('usd')
        await page.getByRole('button', { name: 'Add a rate' }).click()
        await page.getByLabel('Usage of').selectOption({ label: 'Calls' })
        await page.getByRole('button', { name: 'Only events with a property' }).click()
        await page.getByLabel('A price for each value').fill('model')
        await page.getByRole('button', { name: 'Add a value' }).click()
      },
    },
  },
  'rate-card': {
    rates: { path: cardPath, seen: 'What everybody pays.' },
    table: {
      path: cardPath,
      seen: 'Point at a bar',
      prepare: async ({ page }) => {
        await page.getByRole('radio', { name: 'Table' }).check()
        await page.getByRole('columnheader', { name: 'Usage' }).nth(1).waitFor()
      },
    },
    earlier: { path: (world) => `${cardPath(world)}?at=2020-01-01`, seen: 'Rates in force' },
    change: { path: cardPath, seen: 'Point at a bar', prepare: click('Try a change') },
    bare: { path: ({ prices: { bareCard } }) => `/billing/rate-cards/${bareCard}`, seen: 'No rate yet.' },
    missing: { path: () => `/billing/rate-cards/rate_card_${'0'.repeat(32)}`, seen: 'There is no rate card' },
  },
  simulate: {
    asked: { path: (world) => `${cardPath(world)}/simulate`, seen: 'Nothing is written.' },
    result: {
      path: (world) =>
        `${cardPath(world)}/simulate?changes=${changeOf(world)}&against=${world.prices.card}&run=${NOW()}`,
      seen: 'Where the differences lie',
      prepare: async ({ page }) => {
        await page.getByRole('button', { name: 'All accounts' }).click()
        await page.getByRole('button', { name: /^CSV of/ }).waitFor()
      },
    },
    lines: {
      // The other side has a name without spaces.
      path: (world) => `${cardPath(world)}/simulate?against=${world.prices.bareCard}&run=${NOW()}`,
      seen: 'Where the differences lie',
      prepare: async ({ page }) => {
        await page.getByRole('button', { name: 'Lines' }).first().click()
        await page.getByRole('dialog').getByText('0.01 usd each').waitFor()
      },
    },
    apply: {
      path: (world) => `${cardPath(world)}/simulate?changes=${changeOf(world)}`,
      seen: 'in force from',
      prepare: click('Apply this change'),
    },
    none: {
      path: (world) => `${cardPath(world)}/simulate?from=2020-01-01&to=2020-01-31&run=${NOW()}`,
      seen: 'No account to compare.',
    },
    unreadable: { path: (world) => `${cardPath(world)}/simulate?changes=%7B`, seen: 'cannot be read' },
    missing: {
      path: () => `/billing/rate-cards/rate_card_${'0'.repeat(32)}/simulate`,
      seen: 'There is no rate card',
    },
  },
}
