import type { ApiClient } from './api-client.ts'

interface Line {
  metric_id: string | null
  currency: string | null
  quantity: string
}

export interface PeriodUsage {
  aggregation: string
  data: { period_start_at: number; data: Line[] }[]
}

export interface BalanceBody {
  account_id: string
  metric_id: string | null
  currency: string | null
  grant_total: string
  usage_total: string
  balance: string
}

/** Lines as pairs, in their order: the source, and the quantity. */
export const linesOf = (lines: readonly Line[]): [string, string][] =>
  lines.map(({ metric_id: metric, currency, quantity }) => [metric ?? currency ?? '', quantity])

/** Asks for usage by day or month: each bucket's start and lines. */
export async function askPeriods(api: ApiClient, target: string): Promise<[number, [string, string][]][]> {
  const { status, text, body } = await api.get<PeriodUsage>(target)
  if (status !== 200) throw new Error(`GET ${target} answered ${status}: ${text}`)
  return body.data.map(({ period_start_at: start, data }) => [start, linesOf(data)])
}
