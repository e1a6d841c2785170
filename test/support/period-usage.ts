import type { SchemaOf } from '../../shared/http/operation.ts'
import type { ApiClient } from './api-client.ts'

export type PeriodUsage = SchemaOf<'PeriodUsage'>
export type BalanceBody = SchemaOf<'Balance'>
type Line = Pick<PeriodUsage['data'][number]['data'][number], 'metric_id' | 'currency' | 'quantity'>

/** Converts lines to pairs of source and quantity, in their order. */
export const linesOf = (lines: readonly Line[]): [string, string][] =>
  lines.map(({ metric_id: metric, currency, quantity }) => [metric ?? currency ?? '', quantity])

/** Requests usage by day or month, and returns each bucket's start and lines. */
export async function askPeriods(api: ApiClient, target: string): Promise<[number, [string, string][]][]> {
  const { status, text, body } = await api.get<PeriodUsage>(target)
  if (status !== 200) throw new Error(`GET ${target} answered ${status}: ${text}`)
  return body.data.map(({ period_start_at: start, data }) => [start, linesOf(data)])
}
