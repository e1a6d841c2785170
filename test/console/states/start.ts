import type { StatesOf } from './state.ts'

export const startStates: StatesOf<'sign-in' | 'start'> = {
  'sign-in': { plain: { path: () => '/sign-in', seen: 'Where is my key?' } },
  start: {
    empty: { path: () => '/start', seen: 'An account and a metric' },
    arrived: {
      path: ({ account, metric, eventAt }) => `/start?account=${account}&metric=${metric}&at=${eventAt}`,
      seen: 'The balance fell',
    },
    waiting: {
      path: ({ bare, metric }) => `/start?account=${bare}&metric=${metric}`,
      seen: 'Waiting for the event',
    },
  },
}
