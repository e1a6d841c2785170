import { intersect } from '../time-range.ts'
import { isMetric } from '../usage-source.ts'
import type { CardLine, ContractLine, ContractTimes, PriceLine, PriceOverride } from './contract.ts'
import type { Price } from './price.ts'
import { findUseFault } from './price-rules.ts'
import type { Rate } from './rate.ts'
import { isToCome } from './stored-contract.ts'
import { rangeOf } from './timeline-change.ts'

/** Something that new lines cannot use once it is archived. */
interface Archivable {
  archivedAt: Date | null
}

/** The resources that lines refer to, by id. An id that does not exist has no entry. */
export interface LineReferences {
  prices: ReadonlyMap<string, Price & Archivable>
  rateCards: ReadonlyMap<string, { currency: string } & Archivable>
  /** For each card: all rates that it ever had, each with the id of the product that its prices belong to. */
  rates: ReadonlyMap<string, readonly (Rate & { productId: string })[]>
  metricIds: ReadonlySet<string>
}

/** A fault of a line, and the field in which it is. */
export interface LineFault {
  /** For example `price_overrides[2].price_id`. */
  field: string
  text: string
}

/**
 * The reason why a new line cannot be added to a contract; undefined if the line can be added.
 *
 * @param saysQuantity whether the request states a quantity; if not, the quantity is 1
 */
export function findLineFault(
  line: ContractLine,
  contract: Pick<ContractTimes, 'startsAt' | 'endsAt'> & { currency: string },
  references: LineReferences,
  saysQuantity: boolean,
): LineFault | undefined {
  return findTimesFault(line, contract) ?? findTermsFault(line, contract.currency, references, saysQuantity)
}

function findTimesFault(
  { startsAt, endsAt }: ContractLine,
  contract: Pick<ContractTimes, 'startsAt' | 'endsAt'>,
): LineFault | undefined {
  const end = contract.endsAt ?? Infinity
  if (startsAt < contract.startsAt)
    return { field: 'starts_at', text: 'lies before the start of the contract' }
  if (startsAt >= end) return { field: 'starts_at', text: 'lies after the contract' }
  if (endsAt !== null && endsAt > end) return { field: 'ends_at', text: 'lies after the contract' }
  return undefined
}

function findTermsFault(
  line: ContractLine,
  currency: string,
  references: LineReferences,
  saysQuantity: boolean,
): LineFault | undefined {
  switch (line.kind) {
    case 'card':
      return findCardFault(line, currency, references)
    case 'price':
      return findPriceFault(line, currency, references, saysQuantity)
    case 'credit':
      return isMetric(line.source) && !references.metricIds.has(line.source)
        ? { field: 'credit.metric_id', text: 'there is no such metric' }
        : undefined
    case 'minimum':
      return undefined
  }
}

function findCardFault(line: CardLine, currency: string, references: LineReferences): LineFault | undefined {
  const card = references.rateCards.get(line.rateCardId)
  const text = findReferenceFault('rate card', card, currency)
  if (text !== undefined) return { field: 'rate_card_id', text }
  for (const [index, override] of line.priceOverrides.entries()) {
    const text = findOverrideFault(override, line, currency, references)
    if (text !== undefined) return { field: `price_overrides[${index}].price_id`, text }
  }
  return undefined
}

function findOverrideFault(
  { productId, priceId }: PriceOverride,
  { rateCardId, startsAt }: CardLine,
  currency: string,
  { prices, rates }: LineReferences,
): string | undefined {
  const price = prices.get(priceId)
  if (price === undefined || price.archivedAt !== null || price.currency !== currency)
    return findReferenceFault('price', price, currency)
  if (price.productId !== productId) return 'the price is of another product'
  const { terms } = price
  if (terms.model === 'flat' && !terms.recurring)
    return 'the price is due once, but a card charges in every period'
  // A card may have several rates for the product. It is enough if the price fits one of them. If the card has no rate
  // for the product yet, the price is accepted, because such a rate may be added later.
  const faults = (rates.get(rateCardId) ?? [])
    .filter((rate) => rate.productId === productId && isToCome(rate, startsAt))
    .map((rate) => findUseFault(rate, terms, currency))
  return faults[0] !== undefined && !faults.includes(undefined) ? `the price ${faults[0]}` : undefined
}

function findPriceFault(
  { priceId }: PriceLine,
  currency: string,
  { prices }: LineReferences,
  saysQuantity: boolean,
): LineFault | undefined {
  const price = prices.get(priceId)
  const text = findReferenceFault('price', price, currency)
  if (text !== undefined) return { field: 'price_id', text }
  if (price?.terms.model === 'percentage')
    return {
      field: 'price_id',
      text: 'the price is a percentage, which needs usage: put it into a rate of a card',
    }
  if (price?.terms.model === 'flat' && saysQuantity)
    return { field: 'quantity', text: 'a flat price has no quantity' }
  return undefined
}

/** The reason why a line cannot use the price or the rate card that it refers to. */
function findReferenceFault(
  what: 'price' | 'rate card',
  found: ({ currency: string } & Archivable) | undefined,
  currency: string,
): string | undefined {
  if (found === undefined) return `there is no such ${what}`
  if (found.archivedAt !== null) return `the ${what} is archived`
  return found.currency === currency ? undefined : `the ${what} is not in ${currency}`
}

/**
 * The first line that overlaps in time with a line of the same kind that stands before it in the list; undefined if
 * there is none. A contract has at most one minimum and one card at a time. An overlap that begins only after a
 * cancellation is found, too, because the cancellation can be withdrawn.
 *
 * @param lines the lines of one contract
 */
export function findSecondAtOnce(
  lines: readonly ContractLine[],
  kind: 'card' | 'minimum',
): ContractLine | undefined {
  const ofKind = lines.filter((line) => line.kind === kind)
  return ofKind.find((line, index) =>
    ofKind.slice(0, index).some((other) => intersect(rangeOf(line), rangeOf(other))),
  )
}
