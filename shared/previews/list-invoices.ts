import { currencyUsageBefore, type Invoice, invoiceOf } from '../domain/billing/invoice.ts'
import type { Page, PageRequest } from '../domain/page.ts'
import { yielder } from '../lifecycle/yielder.ts'
import { completeUpTo } from '../postgres/complete-up-to.ts'
import { contractRepository } from '../postgres/contracts.ts'
import { inNamespace } from '../postgres/core/transaction.ts'
import { unixSeconds } from '../time/microsecond-clock.ts'
import { type PreviewDeps, requireNotToCome } from './preview-invoice.ts'
import { readAgreements, readCredit } from './read-agreements.ts'

/** Times are in Unix seconds; undefined means now. */
interface ListRequest {
  at: number | undefined
  asOf: number | undefined
  page: PageRequest
}

export type ListInvoices = (
  namespaceId: string,
  request: ListRequest,
  now: number,
  signal: AbortSignal,
) => Promise<Page<Invoice>>

/**
 * The invoices of the periods that contain the second `at`, for one page of the contracts in force at `at`. The data of
 * all these invoices is read together.
 *
 * @param signal ends the wait for a permit to read usage
 * @throws DomainError malformed when startingAfter is no contract of the namespace; unprocessable when `asOf` lies
 *   after the next second
 */
export function listInvoices({ pool, usage, listedUpTo }: PreviewDeps): ListInvoices {
  return async (namespaceId, { at, asOf, page }, now, signal) => {
    requireNotToCome(asOf, now)
    const second = at ?? now
    const loadedUpTo = await listedUpTo() // first, so that the reads below include all events that were accepted before
    const {
      usageAsOf,
      items: listed,
      hasMore,
    } = await inNamespace(pool, namespaceId, async (db) => ({
      usageAsOf: unixSeconds(await completeUpTo(db, namespaceId, loadedUpTo)),
      ...(await contractRepository(db).listInForce(namespaceId, second, page)),
    }))
    // Why a second transaction: in the first one, listInForce makes PostgreSQL read all lists in the order of an index,
    // whatever the cost. PostgreSQL must plan these reads as usual.
    const { plans, prices, credit } = await inNamespace(pool, namespaceId, async (db) => {
      const contracts = await contractRepository(db).withLines(namespaceId, listed)
      const agreements = await readAgreements(db, namespaceId, contracts, () => second, asOf ?? now)
      return { ...agreements, credit: await readCredit(db, namespaceId, agreements.plans, undefined) }
    })
    const invoices = plans.map((plan, index) => {
      const paidFrom = credit[index]
      if (paidFrom === undefined) throw new Error('an invoice whose credit was not read')
      return { plan, paidFrom }
    })
    const measured = await usage.readAll(
      namespaceId,
      invoices.map(({ plan, paidFrom }) => ({ ...plan, creditBefore: currencyUsageBefore(plan, paidFrom) })),
      signal,
    )
    const items: Invoice[] = []
    const pause = yielder()
    for (const [index, { plan, paidFrom }] of invoices.entries()) {
      if (pause.isDue()) await pause.yieldToOthers()
      const read = measured[index]
      if (read === undefined) throw new Error('an invoice whose usage was not read')
      items.push(invoiceOf(plan, prices, { ...read, ...paidFrom, usageAsOf }, now))
    }
    return { items, hasMore }
  }
}
