import type { ReportedCurrency } from '../../../shared/clickhouse/events/reported-currencies.ts'
import { findIsoCurrency } from '../../../shared/domain/iso-currency.ts'
import { type Operation, operation, type SchemaOf } from '../../../shared/http/operation.ts'
import { pageToBody } from '../core/body-fields.ts'
import { pageIn } from '../core/page-query.ts'
import type { ListCurrencies } from './list-currencies.ts'

/** The operation that lists the currencies in use. */
export const currencyOperations = (list: ListCurrencies): Operation[] => [
  operation('listCurrencies', async ({ caller, query }) =>
    pageToBody(await list(caller.namespaceId, pageIn(query), caller.accountId), currencyToBody),
  ),
]

function currencyToBody({
  code,
  firstReportedAt,
  lastReportedAt,
}: ReportedCurrency): SchemaOf<'ReportedCurrency'> {
  const iso = findIsoCurrency(code)
  return {
    currency: code,
    name: iso?.name ?? null,
    minor_units: iso?.minorUnits ?? null,
    first_reported_at: firstReportedAt,
    last_reported_at: lastReportedAt,
  }
}
