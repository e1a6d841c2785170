import type { RequestHandler } from 'express'
import type { ReportedCurrency } from '../../../shared/clickhouse/events/reported-currencies.ts'
import { findIsoCurrency } from '../../../shared/domain/iso-currency.ts'
import { callerOf } from '../../../shared/http/authentication.ts'
import type { ListCurrencies } from './list-currencies.ts'
import { pageToBody } from '../core/body-fields.ts'
import { pageOfQuery } from '../core/page-query.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf } from '../core/handler-of.ts'

/** Currencies in use. */
export const currencyHandlers = (list: ListCurrencies): Handlers => ({
  listCurrencies: handlerOf(getCurrencies(list)),
})

function getCurrencies(list: ListCurrencies): RequestHandler {
  return async (req, res) => {
    const page = await list(callerOf(res).namespaceId, pageOfQuery(req))
    res.json(pageToBody(page, currencyToBody))
  }
}

function currencyToBody({ code, firstReportedAt, lastReportedAt }: ReportedCurrency) {
  const iso = findIsoCurrency(code)
  return {
    currency: code,
    name: iso?.name ?? null,
    minor_units: iso?.minorUnits ?? null,
    first_reported_at: firstReportedAt,
    last_reported_at: lastReportedAt,
  }
}
