import type { RequestHandler } from 'express'
import { usageLineQuery } from '../../../shared/clickhouse/usage/usage-line-query.ts'
import type { InvoiceLine } from '../../../shared/domain/billing/rate-usage.ts'
import { callerOf } from '../../../shared/http/authentication.ts'
import { goneSignal } from '../../../shared/http/gone-signal.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { longHandlerOf } from '../core/handler-of.ts'
import { nowIn } from '../core/now-in.ts'
import { pageToBody } from '../core/body-fields.ts'
import { pageOfQuery } from '../core/page-query.ts'
import { previewToBody, summaryToBody } from './body.ts'
import { differenceToBody } from './difference-body.ts'
import { listInvoices, type ListInvoices } from './list-invoices.ts'
import { previewInvoice, type Preview, type PreviewDeps, type PreviewInvoice } from './preview-invoice.ts'
import { whatIfOf, type WhatIfBody } from './what-if.ts'

/** What a period of a contract comes to. */
export const invoicePreviewHandlers = (deps: PreviewDeps): Handlers => ({
  previewInvoice: longHandlerOf('batched', postInvoicePreview(previewInvoice(deps))),
  listInvoicePreviews: longHandlerOf('batched', getInvoicePreviews(listInvoices(deps))),
})

interface PreviewBody extends WhatIfBody {
  contract_id: string
  at?: number
  as_of?: number
  known_at?: number
  difference_since?: number
}

function postInvoicePreview(preview: PreviewInvoice): RequestHandler {
  return async (req, res) => {
    const body = req.body as PreviewBody
    const contractId = body.contract_id.toLowerCase()
    const now = nowIn(res)
    const request = {
      contractId,
      at: body.at,
      asOf: body.as_of,
      knownAt: body.known_at,
      differenceSince: body.difference_since,
      whatIf: whatIfOf(contractId, body, now),
    }
    const { namespaceId } = callerOf(res)
    const made = await preview(namespaceId, request, now, goneSignal(res))
    const { difference, plan } = made
    res.json({
      ...previewToBody(made.invoice, made.prices, queryOf(namespaceId, made)),
      ...(difference && { difference: differenceToBody(difference, plan) }),
    })
  }
}

interface PreviewsQuery {
  at?: number
  as_of?: number
}

function getInvoicePreviews(list: ListInvoices): RequestHandler {
  return async (req, res) => {
    const { at, as_of: asOf } = req.query as PreviewsQuery
    const page = await list(
      callerOf(res).namespaceId,
      { at, asOf, page: pageOfQuery(req) },
      nowIn(res),
      goneSignal(res),
    )
    res.json(pageToBody(page, summaryToBody))
  }
}

/** None of what was known at a time: analysts see events as they are now, and no answer of theirs stays the same. */
const queryOf =
  (namespaceId: string, { plan, isAsKnown }: Preview) =>
  (line: InvoiceLine): string | null =>
    isAsKnown
      ? null
      : (usageLineQuery({ namespaceId, accountId: plan.contract.accountId }, line, plan.asOf) ?? null)
