import { invoiceLineQuery } from '../../../shared/clickhouse/usage/invoice-line-query.ts'
import type { InvoiceLine } from '../../../shared/domain/billing/rate-usage.ts'
import { type Operation, operation } from '../../../shared/http/operation.ts'
import { listInvoices } from '../../../shared/previews/list-invoices.ts'
import { type Preview, type PreviewDeps, previewInvoice } from '../../../shared/previews/preview-invoice.ts'
import { pageToBody } from '../core/body-fields.ts'
import { pageIn } from '../core/page-query.ts'
import { previewToBody, summaryToBody } from './body.ts'
import { differenceToBody } from './difference-body.ts'
import { whatIfOf } from './what-if.ts'

/** The operations that preview invoices of contracts. */
export function invoicePreviewOperations(deps: PreviewDeps): Operation[] {
  const [preview, list] = [previewInvoice(deps), listInvoices(deps)]
  return [
    operation(
      'previewInvoice',
      async ({ caller: { namespaceId }, body, now, signal }) => {
        const contractId = body.contract_id.toLowerCase()
        const request = {
          contractId,
          at: body.at,
          asOf: body.as_of,
          knownAt: body.known_at,
          differenceSince: body.difference_since,
          whatIf: whatIfOf(contractId, body, now),
        }
        const made = await preview(namespaceId, request, now, signal())
        const { difference, plan } = made
        return {
          ...previewToBody(made.invoice, made.prices, queryOf(namespaceId, made)),
          ...(difference && { difference: differenceToBody(difference, plan) }),
        }
      },
      { isLong: 'batched' },
    ),
    operation(
      'listInvoicePreviews',
      async ({ caller, query, now, signal }) => {
        const asked = { at: query.at, asOf: query.as_of, page: pageIn(query) }
        return pageToBody(await list(caller.namespaceId, asked, now, signal()), summaryToBody)
      },
      { isLong: 'batched' },
    ),
  ]
}

/** Returns null for a preview as known at an earlier time, because the analysts' tables show events only as of now. */
const queryOf =
  (namespaceId: string, { plan, isAsKnown }: Preview) =>
  (line: InvoiceLine): string | null =>
    isAsKnown
      ? null
      : (invoiceLineQuery({ namespaceId, accountId: plan.contract.accountId }, line, plan.asOf) ?? null)
