import { click, type StatesOf } from './state.ts'

export const accountStates: StatesOf<'accounts' | 'account'> = {
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
