import type { ApiClient } from '../support/api-client.ts'
import { until } from '../support/until.ts'

export const DAY_S = 86_400

export const nowS = (): number => Math.floor(Date.now() / 1_000)

/** Makes data of accounts of their own, in one metric. */
export const accountData = ({ api, metric }: { api: ApiClient; metric: string }) => ({
  makeAccount: (name: string) => api.create<{ id: string }>('/v2/accounts', { name }),
  report: (account: string, events: readonly object[]) =>
    api.create<{ event_ids: string[] }>('/v2/events/batch', {
      events: events.map((event) => ({ account_id: account, metric_id: metric, ...event })),
    }),
  awaitUsage: (account: string, total: string) =>
    until(async () => {
      const { body } = await api.get<{ usage_total: string }>(
        `/v2/accounts/${account}/balance?metric_id=${metric}`,
      )
      return body.usage_total === total
    }),
})
