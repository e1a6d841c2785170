import { click, type StatesOf } from './state.ts'

const LONG_AGO = 'from=2020-01-01&to=2020-01-31'

export const exploreStates: StatesOf<'overview' | 'usage' | 'metrics' | 'metric' | 'customers' | 'customer'> =
  {
    overview: {
      all: { path: () => '/overview', seen: 'Invoices of the running periods' },
      largest: {
        path: ({ explore }) => `/overview?split=largest&source=${explore.requests}`,
        seen: 'Today so far',
        prepare: async (tab) => {
          await tab.page.getByRole('table', { name: 'The largest accounts' }).waitFor()
          await click('Pause')(tab)
        },
      },
    },
    usage: {
      'by-account': { path: ({ explore }) => `/usage?source=${explore.requests}`, seen: 'All 2 accounts' },
      'by-property': {
        path: ({ explore }) => `/usage?source=${explore.requests}&split=property&property=model`,
        seen: '10 of 14 values, the rest together',
        prepare: async ({ page }) => {
          await page.getByText('SQL for all 14 values').click()
          await page.getByText('FROM events').waitFor()
        },
      },
      'average-by-month': {
        path: ({ explore }) =>
          `/usage?source=${explore.requests}&split=property&property=region&aggregation=avg&period=month`,
        seen: 'such values of groups do not add up',
        prepare: async ({ page }) => {
          await page.getByRole('radio', { name: 'Table' }).check()
        },
      },
      'no-property': {
        path: ({ explore }) => `/usage?source=${explore.requests}&split=property`,
        seen: 'Which property?',
      },
      'no-value': {
        path: ({ explore }) => `/usage?source=${explore.requests}&split=property&property=colour`,
        seen: 'No event from',
      },
      nothing: {
        path: ({ explore }) => `/usage?source=${explore.requests}&${LONG_AGO}`,
        seen: 'Nothing was used from 2020-01-01 to 2020-01-31',
      },
      refused: { path: () => '/usage?source=xxxx', seen: '(400)' },
    },
    metrics: {
      list: { path: () => '/metrics', seen: 'Requests' },
      'new-metric': { path: () => '/metrics', seen: 'Requests', prepare: click('New metric') },
    },
    metric: {
      full: { path: ({ explore }) => `/metrics/${explore.requests}`, seen: 'Top accounts' },
      change: {
        path: ({ explore }) => `/metrics/${explore.requests}`,
        seen: 'Top accounts',
        prepare: click('Change'),
      },
      archive: {
        path: ({ explore }) => `/metrics/${explore.requests}`,
        seen: 'Top accounts',
        prepare: click('Archive'),
      },
      missing: { path: () => `/metrics/metric_${'0'.repeat(32)}`, seen: 'There is no metric' },
    },
    customers: {
      list: { path: () => '/customers', seen: 'Explorer Ltd' },
      'new-customer': { path: () => '/customers', seen: 'Explorer Ltd', prepare: click('New customer') },
      nothing: { path: () => '/customers?query=%25', seen: 'Nothing found for' },
    },
    customer: {
      full: { path: ({ explore }) => `/customers/${explore.payer}`, seen: 'Explored' },
      bare: { path: ({ explore }) => `/customers/${explore.lonely}`, seen: 'has no account yet' },
      change: {
        path: ({ explore }) => `/customers/${explore.lonely}`,
        seen: 'has no account yet',
        prepare: click('Change'),
      },
      missing: { path: () => '/customers/nobody', seen: 'There is no customer' },
    },
  }
