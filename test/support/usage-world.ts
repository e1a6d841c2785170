import { gzipSync } from 'node:zlib'
import type { SchemaOf } from '../../shared/http/operation.ts'
import type { ApiClient } from './api-client.ts'
import { until } from './until.ts'

export interface Reported {
  account_id?: string
  metric_id?: string
  currency?: string
  quantity?: unknown
  occurred_at?: unknown
  idempotency_key?: unknown
  properties?: unknown
}

export type SourceUsage = SchemaOf<'AccountUsage'>['events_consumed'][number]
export type EventBody = SchemaOf<'UsageEvent'>

/** Makes an account and two metrics, and functions to report and read usage. */
export async function makeWorld(api: ApiClient) {
  const { id: account } = await api.create<{ id: string }>('/v2/accounts', { name: 'a' })
  const { id: tokens } = await api.create<{ id: string }>('/v2/metrics', {
    name: 'tokens',
    measurement_units: 'tokens',
  })
  const { id: calls } = await api.create<{ id: string }>('/v2/metrics', { name: 'calls' })

  const report = (event: Reported, headers: Record<string, string> = {}) =>
    api.post<EventBody>('/v2/events', { account_id: account, ...event }, { headers })
  const reportAll = (events: readonly Reported[], headers: Record<string, string> = {}) =>
    api.post<SchemaOf<'UsageEventBatchTaken'>>(
      '/v2/events/batch',
      { events: events.map((event) => ({ account_id: account, ...event })) },
      { headers },
    )

  /** The usage by metric or currency. */
  const usage = async (query = ''): Promise<Record<string, string>> => {
    const { body } = await api.get<SchemaOf<'AccountUsage'>>(
      `/v2/accounts/${account}/usage?start_at=0&end_at=4294967295${query}`,
    )
    return Object.fromEntries(
      body.events_consumed.map((line) => [line.metric_id ?? line.currency ?? '', line.quantity]),
    )
  }

  /** Waits until this many events of the account are counted. */
  const counted = (events: number) =>
    until(async () => {
      const counts = Object.values(await usage('&aggregation=count')).map(Number)
      return counts.reduce((sum, count) => sum + count, 0) >= events
    })

  const balance = async (query: string) =>
    (await api.get<SchemaOf<'Balance'>>(`/v2/accounts/${account}/balance?${query}`)).body

  return { account, tokens, calls, report, reportAll, usage, counted, balance }
}

/** Compresses a body with gzip, and returns it with its header. */
export const gzipped = (body: unknown) => ({
  raw: gzipSync(JSON.stringify(body)),
  headers: { 'content-encoding': 'gzip' },
})
