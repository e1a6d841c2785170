import { type ClickHouse, queryRows } from '../clickhouse.ts'

/** A currency that usage was reported in. */
export interface ReportedCurrency {
  code: string
  /** When usage in it was first and last accepted, repeated reports included: Unix seconds. */
  firstReportedAt: number
  lastReportedAt: number
}

const LIST = `
  SELECT currency, toUnixTimestamp(min(first_reported_at)) AS first, toUnixTimestamp(max(last_reported_at)) AS last
  FROM reported_currencies
  WHERE namespace_id = {namespaceId:String}
  GROUP BY currency
  ORDER BY currency`

/** Lists the currencies that were ever reported. Their table has few rows, and every insert of usage updates it. */
export const reportedCurrencyRepository = (client: ClickHouse) => ({
  /** Lists currencies in the order of their codes. */
  async list(namespaceId: string): Promise<ReportedCurrency[]> {
    const rows = await queryRows<{ currency: string; first: number; last: number }>(client, LIST, {
      namespaceId,
    })
    return rows.map(({ currency, first, last }) => ({
      code: currency,
      firstReportedAt: first,
      lastReportedAt: last,
    }))
  },
})
