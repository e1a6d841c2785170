import type {
  ReportedCurrency,
  reportedCurrencyRepository,
} from '../../../shared/clickhouse/events/reported-currencies.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../../../shared/domain/page.ts'

export type ListCurrencies = (namespaceId: string, page: PageRequest) => Promise<Page<ReportedCurrency>>

/**
 * Lists the currencies in which usage was ever reported, sorted by code.
 *
 * Why a page reads all of them: there are 17,576 codes of three letters, and few companies use as many as ten.
 *
 * @throws DomainError malformed when startingAfter is not one of these currencies
 */
export function listCurrencies(currencies: ReturnType<typeof reportedCurrencyRepository>): ListCurrencies {
  return async (namespaceId, { limit, startingAfter }) => {
    const all = await currencies.list(namespaceId)
    if (startingAfter === undefined) return pageOf(all.slice(0, limit + 1), limit)
    const place = all.findIndex(({ code }) => code === startingAfter)
    if (place === -1) throw unknownCursor()
    return pageOf(all.slice(place + 1, place + 1 + limit + 1), limit)
  }
}
