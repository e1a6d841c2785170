import type { Schema } from '../../api/contract.ts'
import { dayLabel } from '../../format/time.ts'
import { visibleText } from '../../format/visible-text.ts'
import { priceWords } from '../../parts/price-words.ts'
import type { Names } from './names.ts'

type ContractLine = Schema<'ContractLine'>

/** What a line of a contract does, in words: `Seats: 12 usd each × 10`. */
export function lineWords(line: ContractLine, currency: string, names: Names): string {
  const { rate_card_id: cardId, price_id: priceId, minimum_amount: minimum, credit } = line
  if (cardId !== undefined) return `Follows ${visibleText(names.rateCard(cardId))}${cardTerms(line)}`
  if (priceId !== undefined) return `${priceOf(priceId, line, names)}${discount(line)}`
  if (minimum !== undefined) return `At least ${minimum} ${currency} a period`
  return credit === undefined ? '' : creditWords(credit, names)
}

function cardTerms(line: ContractLine): string {
  const count = line.price_overrides?.length ?? 0
  const own = count === 0 ? '' : `, ${count} ${count === 1 ? 'price' : 'prices'} of its own`
  return discount(line) + own
}

const discount = ({ discount_percent: percent }: ContractLine): string =>
  percent === undefined || percent === '0' ? '' : `, ${percent} % off`

function priceOf(priceId: string, { quantity = '1' }: ContractLine, names: Names): string {
  const price = names.price(priceId)
  if (price === undefined) return `${priceId} × ${quantity}`
  const words = `${visibleText(names.product(price.product_id))}: ${priceWords(price)}`
  return price.model === 'flat' ? words : `${words} × ${quantity}`
}

function creditWords(
  { amount, metric_id: metric, currency, expires }: Schema<'ContractCredit'>,
  names: Names,
) {
  const unit = names.source(metric ?? currency ?? '').unit
  const end = expires === 'period_end' ? ', which expires with it' : ''
  return `${amount} ${visibleText(unit)} of credit a period${end}`
}

/** When a line is in force, in words: `from 1 Jan 2026 until 16 Jan 2026`. */
export function timeWords({
  starts_at: from,
  ends_at: to,
}: Pick<ContractLine, 'starts_at' | 'ends_at'>): string {
  if (to === from) return 'withdrawn before it began'
  const since = `from ${dayLabel(from, true)}`
  return to === null ? since : `${since} until ${dayLabel(to, true)}`
}
