import { expect } from 'chai'
import type { Aggregation } from '../../shared/domain/usage-aggregate.ts'
import type { SchemaOf } from '../../shared/http/operation.ts'
import type { ApiClient } from '../support/api-client.ts'
import { askPeriods, type BalanceBody, linesOf } from '../support/period-usage.ts'
import { hasProperty, type ModelBucket, type ModelEvent, type UsageModel } from '../support/usage-model.ts'

/** The world whose usage is compared. */
interface UsageWorld {
  api: ApiClient
  accounts: readonly string[]
  metrics: readonly string[]
}

/** A request for usage. */
export interface UsageAsk {
  /** Unix seconds, half-open. */
  from: number
  to: number
  aggregation: Aggregation
  currency: string | undefined
  /** The index of the account. */
  account: number
  property: string
  value: string
}

/** Requests usage by every operation, and compares the answers with the model. */
export async function compareUsage(world: UsageWorld, model: UsageModel, ask: UsageAsk): Promise<void> {
  const { api } = world
  const { from, to } = ask
  const accountId = world.accounts[ask.account] ?? ''
  const code = ask.currency?.toLowerCase()
  const how = `aggregation=${ask.aggregation}${ask.currency === undefined ? '' : `&currency=${ask.currency}`}`
  const range = `start_at=${from}&end_at=${to}&${how}`
  const ofCurrency = (event: ModelEvent) => code === undefined || event.source === code
  const ofAccount = (event: ModelEvent) => event.accountId === accountId && ofCurrency(event)
  const inOrder = (usage: Record<string, string>) =>
    [...world.metrics, 'eur', 'usd'].flatMap((name) => (name in usage ? [[name, usage[name]]] : []))
  const bucketsInOrder = (buckets: readonly ModelBucket[]) =>
    buckets.map(({ start, usage }) => [start, inOrder(usage)])

  const plain = await api.get<SchemaOf<'AccountUsage'>>(`/v2/accounts/${accountId}/usage?${range}`)
  const usage = model.usage(ask.aggregation, from, to, ofAccount)
  expect(linesOf(plain.body.events_consumed), range).to.deep.equal(inOrder(usage))

  const daily = await askPeriods(api, `/v2/accounts/${accountId}/usage/daily?${range}`)
  const days = model.buckets('day', ask.aggregation, from, to - 1, ofAccount)
  expect(daily, range).to.deep.equal(bucketsInOrder(days))

  const monthly = await askPeriods(api, `/v2/accounts/${accountId}/usage/monthly?${how}`)
  const span = model.span(ofAccount)
  const months =
    span === undefined ? [] : model.buckets('month', ask.aggregation, span.first, span.last, ofAccount)
  expect(monthly, how).to.deep.equal(bucketsInOrder(months))

  const everywhere = await askPeriods(api, `/v2/metrics/usage/monthly?${range}`)
  const allMonths = model.buckets('month', ask.aggregation, from, to - 1, ofCurrency)
  expect(everywhere, range).to.deep.equal(bucketsInOrder(allMonths))

  const property = `property=${ask.property}&value=${encodeURIComponent(ask.value)}&${range}`
  const found = await api.get<{ data: Parameters<typeof linesOf>[0] }>(`/v2/events/aggregate?${property}`)
  const matching = model.usage(
    ask.aggregation,
    from,
    to,
    (event) => ofCurrency(event) && hasProperty(event, ask.property, ask.value),
  )
  expect(found.body, property).to.include({ property: ask.property, value: ask.value })
  expect(linesOf(found.body.data), property).to.deep.equal(inOrder(matching))
}

/** Compares balances with the model; all metrics except the first two are archived. */
export async function compareBalances(
  { api, accounts, metrics }: UsageWorld,
  model: UsageModel,
): Promise<void> {
  const { body } = await api.get<SchemaOf<'Balances'>>(
    `/v2/accounts/balances?account_ids=${accounts.join(',')}`,
  )
  const expected = accounts.flatMap((accountId) => [
    ...metrics.slice(0, 2).map((metric) => ({
      ...{ account_id: accountId, metric_id: metric, currency: null },
      ...model.balance(accountId, metric),
    })),
    ...model.grantedCurrencies(accountId).map((currency) => ({
      ...{ account_id: accountId, metric_id: null, currency },
      ...model.balance(accountId, currency),
    })),
  ])
  expect(body.data).to.deep.equal(expected)
  // All at once, so that they share queries.
  await Promise.all(
    accounts.flatMap((accountId) =>
      [...metrics, 'usd', 'eur'].map(async (name) => {
        const by = name.length === 3 ? `currency=${name}` : `metric_id=${name}`
        const one = await api.get<BalanceBody>(`/v2/accounts/${accountId}/balance?${by}`)
        expect(one.body, by).to.include(model.balance(accountId, name))
      }),
    ),
  )
}
