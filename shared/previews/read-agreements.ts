import type { Contract } from '../domain/billing/contract.ts'
import type { InvoiceReadings } from '../domain/billing/invoice.ts'
import { type InvoicePlan, planInvoice, pricesOf } from '../domain/billing/plan.ts'
import type { PriceRecord } from '../domain/billing/price-record.ts'
import { contractRepository } from '../postgres/contracts.ts'
import type { PoolClient } from '../postgres/core/pool.ts'
import { grantRepository } from '../postgres/grants.ts'
import { priceRepository } from '../postgres/prices.ts'
import { rateCardRepository } from '../postgres/rate-cards.ts'

// These functions read the data for invoices from PostgreSQL. The number of statements does not grow with the number of
// contracts and lines.

/** The plans of invoices, and the prices of their lines. */
export interface Agreements {
  /** In the order of the contracts. */
  plans: InvoicePlan[]
  /** The prices of all lines. */
  prices: ReadonlyMap<string, PriceRecord>
}

/** The grants that an invoice is paid from. */
export type CreditReadings = Pick<InvoiceReadings, 'grants' | 'creditsWritten'>

/**
 * @param atOf returns a second in the period that is wanted
 * @param asOf only usage that occurred before this time counts; both are in Unix seconds
 * @throws DomainError unprocessable when the second of `atOf` lies outside its contract
 */
export async function readAgreements(
  db: PoolClient,
  namespaceId: string,
  contracts: readonly Contract[],
  atOf: (contract: Contract) => number,
  asOf: number,
): Promise<Agreements> {
  const rateCards = await rateCardRepository(db).listRatesOf(namespaceId, cardsOf(contracts))
  const plans = contracts.map((contract) => planInvoice(contract, rateCards, { at: atOf(contract), asOf }))
  const prices = await priceRepository(db).listByIds(namespaceId, unique(plans.flatMap(pricesOf)))
  return { plans, prices: new Map(prices.map((price) => [price.id, price])) }
}

/**
 * @param knownAt credit is read as it was known at this time, in Unix seconds of real time; undefined: as it is known
 *   now
 * @returns in the order of the plans
 */
export async function readCredit(
  db: PoolClient,
  namespaceId: string,
  plans: readonly InvoicePlan[],
  knownAt: number | undefined,
): Promise<CreditReadings[]> {
  const grants = await grantRepository(db).listCredit(
    namespaceId,
    plans.map(({ contract: { accountId, currency }, creditBefore: before }) => ({
      accountId,
      currency,
      before,
    })),
    knownAt,
  )
  const creditsWritten = await contractRepository(db).newestCredits(
    namespaceId,
    plans.flatMap(({ creditLines }) => creditLines.map(({ id }) => id)),
    knownAt,
  )
  return grants.map((ofPlan) => ({ grants: ofPlan, creditsWritten }))
}

const unique = <T>(all: Iterable<T>): T[] => [...new Set(all)]

const cardsOf = (contracts: readonly Contract[]): string[] =>
  unique(
    contracts.flatMap(({ lines }) =>
      lines.flatMap((line) => (line.kind === 'card' ? [line.rateCardId] : [])),
    ),
  )
