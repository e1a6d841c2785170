import { groupBy } from '../../../shared/collections/group-by.ts'
import type { Contract } from '../../../shared/domain/billing/contract.ts'
import type { CreditGrant } from '../../../shared/domain/billing/credit.ts'
import { planInvoice, pricesOf, type InvoicePlan } from '../../../shared/domain/billing/plan.ts'
import type { PriceRecord } from '../../../shared/domain/price-record.ts'
import { contractRepository } from '../../../shared/postgres/contracts.ts'
import { grantRepository } from '../../../shared/postgres/grants.ts'
import { priceRepository } from '../../../shared/postgres/prices.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'

/** Everything that PostgreSQL holds of a contract's invoice. */
export interface Agreement {
  plan: InvoicePlan
  grants: readonly CreditGrant[]
}

/** Those of several contracts, and what they share. */
interface Agreements {
  /** In the order of the contracts. */
  agreements: Agreement[]
  /** Of all lines. */
  prices: ReadonlyMap<string, PriceRecord>
  /** Which grants of their credit lines are written: keys of creditKey. */
  creditsWritten: ReadonlySet<string>
}

/**
 * As many statements for many contracts and lines as for one.
 *
 * @param atOf the second whose period is meant
 * @param asOf usage that occurred before counts; both in Unix seconds
 * @throws DomainError unprocessable when that second lies outside a contract
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
  const credit = await grantRepository(db).listCredit(namespaceId, creditKeysOf(contracts))
  const creditsWritten = await contractRepository(db).listCredits(
    namespaceId,
    plans.flatMap(({ creditLines }) => creditLines.map(({ id }) => id)),
  )
  const grants = groupBy(credit, nameOfCredit)
  return {
    agreements: plans.map((plan) => ({ plan, grants: grants.get(nameOfCredit(plan.contract)) ?? [] })),
    prices: new Map(prices.map((price) => [price.id, price])),
    creditsWritten,
  }
}

const unique = <T>(all: Iterable<T>): T[] => [...new Set(all)]

const cardsOf = (contracts: readonly Contract[]): string[] =>
  unique(
    contracts.flatMap(({ lines }) =>
      lines.flatMap((line) => (line.kind === 'card' ? [line.rateCardId] : [])),
    ),
  )

const nameOfCredit = ({ accountId, currency }: Pick<Contract, 'accountId' | 'currency'>): string =>
  `${accountId} ${currency}`

/** An account may have several contracts in a currency. */
const creditKeysOf = (contracts: readonly Contract[]) => [
  ...new Map(contracts.map((contract) => [nameOfCredit(contract), contract])).values(),
]
