import type { ConsoleWorld } from '../console-world.ts'
import type { WatchedPage } from '../use-browser.ts'
import { click, type StatesOf } from './state.ts'

type AccountRoute =
  'accounts' | 'account' | 'account-usage' | 'account-events' | 'account-billing' | 'account-about' | 'event'

const MISSING = `/accounts/account_${'0'.repeat(32)}`

const tabOf =
  (tab: string, query = '') =>
  ({ support: { account } }: ConsoleWorld) =>
    `/accounts/${account}/${tab}${query}`

export const accountStates: StatesOf<AccountRoute> = {
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
    missing: { path: () => MISSING, seen: 'There is no account' },
  },
  'account-usage': {
    all: { path: tabOf('usage'), seen: '2148.75' },
    split: { path: tabOf('usage', '?split=region'), seen: 'without region' },
    month: { path: tabOf('usage', '?period=month&aggregation=max&split=model'), seen: 'do not add up' },
    none: { path: tabOf('usage', '?from=2100-01-01&to=2100-01-02'), seen: 'Show that day' },
    'no-value': { path: tabOf('usage', '?split=colour'), seen: 'No event of these has' },
    bare: { path: ({ bare }) => `/accounts/${bare}/usage`, seen: 'There is no event before either.' },
    missing: { path: () => `${MISSING}/usage`, seen: 'There is no account' },
  },
  'account-events': {
    list: { path: tabOf('events'), seen: '1900.5' },
    filtered: { path: tabOf('events', '?property=model&value=small'), seen: 'All events' },
    none: {
      path: tabOf('events', '?from=2026-01-05&to=2026-01-05'),
      seen: 'There is no event before either.',
    },
    before: { path: tabOf('events', `?from=2100-01-01&to=2100-01-02`), seen: 'Show that day' },
    range: { path: tabOf('events', '?from=2026-02-31'), seen: 'cannot be shown' },
    missing: { path: () => `${MISSING}/events`, seen: 'There is no account' },
    drawer: {
      path: ({ support }) => `/accounts/${support.account}/events?event=${support.corrected}`,
      seen: 'Correction 2',
    },
  },
  'account-billing': {
    contract: { path: tabOf('billing'), seen: '55.45' },
    none: { path: ({ bare }) => `/accounts/${bare}/billing`, seen: 'No contract.' },
    missing: { path: () => `${MISSING}/billing`, seen: 'There is no account' },
  },
  'account-about': {
    fields: { path: tabOf('about'), seen: 'created' },
    json: {
      path: tabOf('about'),
      seen: 'as JSON',
      prepare: async ({ page }: WatchedPage) => {
        await page.getByText('as JSON', { exact: true }).click()
      },
    },
    change: { path: tabOf('about'), seen: 'as JSON', prepare: click('Change') },
    archive: { path: tabOf('about'), seen: 'as JSON', prepare: click('Archive') },
    missing: { path: () => `${MISSING}/about`, seen: 'There is no account' },
  },
  event: {
    corrected: { path: ({ support }) => `/events/${support.corrected}`, seen: 'Correction 2' },
    void: { path: ({ support }) => `/events/${support.voided}`, seen: 'no, it is voided' },
    correct: {
      path: ({ support }) => `/events/${support.corrected}`,
      seen: 'Correction 2',
      prepare: click('Correct'),
    },
    end: {
      path: ({ support }) => `/events/${support.corrected}`,
      seen: 'Correction 2',
      prepare: click('Void'),
    },
    missing: { path: () => `/events/event_${'0'.repeat(32)}`, seen: 'There is no event' },
  },
}
