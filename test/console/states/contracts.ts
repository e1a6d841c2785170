import { instantParameter } from '../../../console/src/format/period.ts'
import { click, type StatesOf } from './state.ts'

const ABSENT = `/billing/contracts/${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}`

export const contractStates: StatesOf<'contracts' | 'contract' | 'preview' | 'invoices'> = {
  contracts: {
    list: { path: () => '/billing/contracts', seen: 'Globex 2026' },
    none: { path: ({ bare }) => `/billing/contracts?account=${bare}`, seen: 'No contract.' },
    'new-contract': {
      path: () => '/billing/contracts',
      seen: 'Globex 2026',
      prepare: click('New contract'),
    },
  },
  contract: {
    lines: { path: ({ contract }) => `/billing/contracts/${contract}`, seen: 'Ten seats, to begin with' },
    table: {
      path: ({ contract }) => `/billing/contracts/${contract}`,
      seen: 'Ten seats, to begin with',
      prepare: async ({ page }) => {
        await page.getByRole('radio', { name: 'Table' }).check()
        await page.getByText('Change its lines').click()
      },
    },
    cancel: {
      path: ({ contract }) => `/billing/contracts/${contract}`,
      seen: 'Ten seats, to begin with',
      prepare: async (tab) => {
        await click('Cancel the contract')(tab)
        await click('See what would be due')(tab)
        await tab.page.getByRole('cell', { name: /^With the cancellation/ }).waitFor()
      },
    },
    bare: { path: ({ bareContract }) => `/billing/contracts/${bareContract}`, seen: 'It has no line' },
    canceled: {
      path: ({ canceledContract }) => `/billing/contracts/${canceledContract}`,
      seen: 'It is canceled',
    },
    missing: { path: () => ABSENT, seen: 'There is no contract' },
  },
  preview: {
    month: {
      path: ({ contract, month }) => `/billing/contracts/${contract}/preview?at=${instantParameter(month)}`,
      seen: 'Not rated',
    },
    open: {
      path: ({ contract, month }) => `/billing/contracts/${contract}/preview?at=${instantParameter(month)}`,
      seen: 'Not rated',
      prepare: async ({ page }) => {
        for (const line of await page.locator('.invoice__head').all()) await line.click()
        await page.getByText('SQL for your analysts').first().click()
      },
    },
    known: {
      path: ({ contract, month }) => {
        const known = instantParameter(Math.floor(Date.now() / 1_000) - 60)
        return `/billing/contracts/${contract}/preview?at=${instantParameter(month)}&known_at=${known}`
      },
      seen: 'As it was known at',
    },
    since: {
      path: ({ contract, month }) => {
        const since = instantParameter(month)
        return `/billing/contracts/${contract}/preview?at=${since}&since=${since}`
      },
      seen: 'Events that came, or changed',
    },
    bare: {
      path: ({ bareContract }) => `/billing/contracts/${bareContract}/preview`,
      seen: 'No line has an amount',
    },
    refused: {
      path: ({ contract }) => `/billing/contracts/${contract}/preview?at=2020-01-01`,
      seen: 'has no period at',
    },
    wrong: {
      path: ({ contract }) => `/billing/contracts/${contract}/preview?at=soon`,
      seen: 'is no time',
    },
    missing: { path: () => `${ABSENT}/preview`, seen: 'There is no contract' },
  },
  invoices: {
    now: { path: () => '/billing/invoices', seen: 'All of them as CSV' },
    month: {
      path: ({ month }) => `/billing/invoices?at=${instantParameter(month)}`,
      seen: 'usage without a price',
    },
    none: { path: () => '/billing/invoices?at=2020-01-31', seen: 'No contract in force on 2020-01-31' },
  },
}
