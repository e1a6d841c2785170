import { click, type StatesOf } from './state.ts'

/** How many rows of the trail are shown. A hundred would take longer to look at than the ten next pages together. */
export const TRAIL_ROWS = 20

export const companyStates: StatesOf<'keys' | 'trail' | 'test'> = {
  keys: {
    list: {
      path: () => '/keys',
      seen: 'until 2100',
      prepare: async ({ page }) => {
        await page.getByText('Keys that ended: 1').click()
        await page.getByText('was lost').waitFor()
      },
    },
    account: { path: ({ account }) => `/keys?account_id=${account}`, seen: 'portal of Vienna' },
    'new-account-key': {
      path: ({ bare }) => `/keys?account_id=${bare}`,
      seen: 'This account has no key.',
      prepare: click('New account key'),
    },
    'new-key': { path: () => '/keys', seen: 'until 2100', prepare: click('New key') },
    shown: {
      path: () => '/keys',
      seen: 'until 2100',
      prepare: async ({ page }) => {
        await page.getByRole('button', { name: 'New key' }).click()
        await page.getByRole('textbox', { name: 'Name' }).fill('for a picture')
        await page.getByRole('button', { name: 'Make the key' }).click()
        await page.getByRole('button', { name: 'I have the key' }).waitFor()
      },
    },
    rotate: {
      path: () => '/keys',
      seen: 'until 2100',
      prepare: async ({ page }) => {
        await page.getByRole('button', { name: 'Rotate' }).first().click()
      },
    },
    revoke: {
      path: () => '/keys',
      seen: 'until 2100',
      prepare: async ({ page }) => {
        await page.getByRole('button', { name: 'Revoke' }).last().click()
        await page.getByText('This page uses this key.').waitFor()
      },
    },
  },
  trail: {
    all: { path: () => '/trail', seen: `${TRAIL_ROWS} shown, there are more.` },
    resource: { path: ({ account }) => `/trail?resource_id=${account}`, seen: 'account created' },
    nothing: { path: () => '/trail?resource_id=nothing', seen: 'No change matches this filter.' },
    malformed: { path: () => '/trail?api_key_id=x', seen: '(400)' },
  },
  test: {
    area: { path: () => '/test', seen: 'They are the same.' },
    set: { path: () => '/test', seen: 'They are the same.', prepare: click('Set …') },
    reset: { path: () => '/test', seen: 'They are the same.', prepare: click('Reset …') },
  },
}
