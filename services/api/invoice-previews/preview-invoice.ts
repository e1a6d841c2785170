import type { ratedUsageReader } from '../../../shared/clickhouse/usage/rated-usage.ts'
import type { Contract } from '../../../shared/domain/billing/contract.ts'
import { currencyUsageBefore, invoiceOf, type Invoice } from '../../../shared/domain/billing/invoice.ts'
import {
  defaultSecond,
  planInvoice,
  pricesOf,
  type InvoicePlan,
} from '../../../shared/domain/billing/plan.ts'
import type { PriceRecord } from '../../../shared/domain/price-record.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { contractRepository } from '../../../shared/postgres/contracts.ts'
import { grantRepository } from '../../../shared/postgres/grants.ts'
import { priceRepository } from '../../../shared/postgres/prices.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace, inNamespaceUndone } from '../../../shared/postgres/core/transaction.ts'
import { unixSeconds, type Micros } from '../../../shared/time/microsecond-clock.ts'
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
  return async (namespaceId, request, now) => {
    const asOf = request.asOf ?? now
    if (asOf > now) throw new DomainError('unprocessable', 'as_of lies in the future')
    const inTransaction = request.whatIf === undefined ? inNamespace : inNamespaceUndone
    const [usageAsOf, read] = await Promise.all([
      listedUpTo(), // first: what is read below holds all that was accepted before
      inTransaction(pool, namespaceId, async (db) => {
        await request.whatIf?.(db, namespaceId)
        return readAgreement(db, namespaceId, request, asOf, now)
      }),
    ])
    const { plan, prices, grants, creditsWritten } = read
    const creditBefore = currencyUsageBefore(plan, read)
    const measured = await usage.read(namespaceId, { ...plan, creditBefore })
    const readings = { ...measured, grants, creditsWritten, usageAsOf: unixSeconds(usageAsOf) }
    return { invoice: invoiceOf(plan, prices, readings, now), plan, prices }
  }
}

/** Everything that PostgreSQL holds of a preview: as many statements for many lines as for one. */
async function readAgreement(
  db: PoolClient,
  namespaceId: string,
  { contractId, at }: PreviewRequest,
  asOf: number,
  now: number,
) {
  const contract = await contractRepository(db).find(namespaceId, contractId)
  if (contract === undefined) throw new DomainError('unprocessable', 'contract_id: there is no such contract')
  const rateCards = await rateCardRepository(db).listRatesOf(namespaceId, cardsOf(contract))
  const plan = planInvoice(contract, rateCards, { at: at ?? defaultSecond(contract, now), asOf })
  const prices = await priceRepository(db).listByIds(namespaceId, pricesOf(plan))
  const grants = await grantRepository(db).listCredit(namespaceId, contract.accountId, contract.currency)
  const creditsWritten = await contractRepository(db).listCredits(
    namespaceId,
    plan.creditLines.map(({ id }) => id),
  )
  return { plan, prices: new Map(prices.map((price) => [price.id, price])), grants, creditsWritten }
}

const cardsOf = ({ lines }: Contract): string[] => [
  ...new Set(lines.flatMap((line) => (line.kind === 'card' ? [line.rateCardId] : []))),
]
