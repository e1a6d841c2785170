import type {
  ReportedCurrency,
  reportedCurrencyRepository,
} from '../../../shared/clickhouse/events/reported-currencies.ts'
import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../../../shared/domain/page.ts'
import { ALL_TIME } from '../../../shared/domain/time-range.ts'
import { isMetric } from '../../../shared/domain/usage-source.ts'

/** @param accountId the only account whose currencies are listed; undefined for those of all accounts */
export type ListCurrencies = (
  namespaceId: string,
  page: PageRequest,
  accountId?: string,
) => Promise<Page<ReportedCurrency>>

/**
 * Lists the currencies in which usage was ever reported, sorted by code.
 *
 * Why a page reads all of them: there are 17,576 codes of three letters, and few companies use as many as ten.
 *
 * @throws DomainError malformed when startingAfter is not one of these currencies
 */
export function listCurrencies(
  currencies: ReturnType<typeof reportedCurrencyRepository>,
  usage: Pick<UsageReader, 'aggregateByPeriod'>,
): ListCurrencies {
  return async (namespaceId, { limit, startingAfter }, accountId) => {
    const all = await (accountId === undefined
      ? currencies.list(namespaceId)
      : currenciesOfAccount(usage, namespaceId, accountId))
    if (startingAfter === undefined) return pageOf(all.slice(0, limit + 1), limit)
    const place = all.findIndex(({ code }) => code === startingAfter)
    if (place === -1) throw unknownCursor()
    return pageOf(all.slice(place + 1, place + 1 + limit + 1), limit)
  }
}

/**
 * The currencies of an account's usage, sorted by code. Their times are the first and the last UTC day of that usage.
 *
 * Why no times of reports: only events have them, and reading all events of an account may take very long.
 */
async function currenciesOfAccount(
  usage: Pick<UsageReader, 'aggregateByPeriod'>,
  namespaceId: string,
  accountId: string,
): Promise<ReportedCurrency[]> {
  const byDay = await usage.aggregateByPeriod(namespaceId, 'day', {
    accountId,
    range: ALL_TIME,
    measures: ['count'],
  })
  const found = new Map<string, ReportedCurrency>()
  for (const day of [...byDay.keys()].sort((a, b) => a - b))
    for (const code of byDay.get(day)?.keys() ?? []) {
      if (isMetric(code)) continue
      const firstReportedAt = found.get(code)?.firstReportedAt ?? day
      found.set(code, { code, firstReportedAt, lastReportedAt: day })
    }
  return [...found.values()].sort((a, b) => (a.code < b.code ? -1 : 1))
}
