import type { ratedUsageReader } from '../../../shared/clickhouse/usage/rated-usage.ts'
import { currencyUsageBefore, invoiceOf, type Invoice } from '../../../shared/domain/billing/invoice.ts'
import { defaultSecond, type InvoicePlan } from '../../../shared/domain/billing/plan.ts'
import type { Page, PageRequest } from '../../../shared/domain/page.ts'
import type { PriceRecord } from '../../../shared/domain/price-record.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { yielder } from '../../../shared/lifecycle/yielder.ts'
import { contractRepository } from '../../../shared/postgres/contracts.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace, inNamespaceUndone } from '../../../shared/postgres/core/transaction.ts'
import { unixSeconds, type Micros } from '../../../shared/time/microsecond-clock.ts'
import { readAgreements } from './read-agreements.ts'
import type { WhatIf } from './what-if.ts'

export interface PreviewDeps {
  pool: Pool
  usage: ReturnType<typeof ratedUsageReader>
  /** No event accepted before this can still turn up. */
  listedUpTo: () => Promise<Micros>
}

/** What a preview is asked for; instants in Unix seconds, undefined where the default is meant. */
interface PreviewRequest {
  contractId: string
  at: number | undefined
  asOf: number | undefined
  /** Changes the contract for this preview alone; undefined: as it stands. */
  whatIf: WhatIf | undefined
}

/** An invoice, and the prices of its lines as they were made. */
export interface Preview {
  invoice: Invoice
  plan: InvoicePlan
  prices: ReadonlyMap<string, PriceRecord>
}

export type PreviewInvoice = (namespaceId: string, request: PreviewRequest, now: number) => Promise<Preview>

/**
 * What a period of a contract comes to: plans, reads, and rates. Nothing is written; what is tried out is rolled back.
 *
 * @throws DomainError not_found without such a contract; unprocessable when `at` lies outside of it or `asOf` after now; whatever
 *   a change or a cancellation is refused with
 */
export function previewInvoice({ pool, usage, listedUpTo }: PreviewDeps): PreviewInvoice {
  return async (namespaceId, { contractId, at, whatIf, ...request }, now) => {
    const asOf = asOfNoLaterThan(now, request.asOf)
    const inTransaction = whatIf === undefined ? inNamespace : inNamespaceUndone
    const [usageAsOf, read] = await Promise.all([
      listedUpTo(), // first: what is read below holds all that was accepted before
      inTransaction(pool, namespaceId, async (db) => {
        await whatIf?.(db, namespaceId)
        const contract = await contractRepository(db).find(namespaceId, contractId)
        if (contract === undefined)
          throw new DomainError('unprocessable', 'contract_id: there is no such contract')
        return readAgreements(db, namespaceId, [contract], () => at ?? defaultSecond(contract, now), asOf)
      }),
    ])
    const [agreement] = read.agreements
    if (agreement === undefined) throw new Error('a contract without an agreement')
    const { plan, grants } = agreement
    const { prices, creditsWritten } = read
    const creditBefore = currencyUsageBefore(plan, { grants, creditsWritten })
    const measured = await usage.read(namespaceId, { ...plan, creditBefore })
    const readings = { ...measured, grants, creditsWritten, usageAsOf: unixSeconds(usageAsOf) }
    return { invoice: invoiceOf(plan, prices, readings, now), plan, prices }
  }
}

/** Instants in Unix seconds, undefined where now is meant. */
interface ListRequest {
  at: number | undefined
  asOf: number | undefined
  page: PageRequest
}

export type ListInvoices = (namespaceId: string, request: ListRequest, now: number) => Promise<Page<Invoice>>

/**
 * What the periods that a second lies in come to: a page of the contracts in force then, read as one.
 *
 * @throws DomainError malformed when the page begins after no contract of the namespace; unprocessable when `asOf` lies after now
 */
export function listInvoices({ pool, usage, listedUpTo }: PreviewDeps): ListInvoices {
  return async (namespaceId, { at, page, ...request }, now) => {
    const asOf = asOfNoLaterThan(now, request.asOf)
    const second = at ?? now
    const [usageAsOf, { hasMore, agreements, prices, creditsWritten }] = await Promise.all([
      listedUpTo(), // first, as above
      inNamespace(pool, namespaceId, async (db) => {
        const { items, hasMore } = await contractRepository(db).listInForce(namespaceId, second, page)
        const contracts = await contractRepository(db).withLines(namespaceId, items)
        return { hasMore, ...(await readAgreements(db, namespaceId, contracts, () => second, asOf)) }
      }),
    ])
    const measured = await usage.readAll(
      namespaceId,
      agreements.map(({ plan, grants }) => ({
        ...plan,
        creditBefore: currencyUsageBefore(plan, { grants, creditsWritten }),
      })),
    )
    const items: Invoice[] = []
    const pause = yielder()
    for (const [index, { plan, grants }] of agreements.entries()) {
      if (pause.isDue()) await pause.yieldToOthers()
      const read = measured[index]
      if (read === undefined) throw new Error('an invoice whose usage was not read')
      const readings = { ...read, grants, creditsWritten, usageAsOf: unixSeconds(usageAsOf) }
      items.push(invoiceOf(plan, prices, readings, now))
    }
    return { items, hasMore }
  }
}

/** @throws DomainError unprocessable when it lies in the future */
function asOfNoLaterThan(now: number, asOf = now): number {
  if (asOf > now) throw new DomainError('unprocessable', 'as_of lies in the future')
  return asOf
}
