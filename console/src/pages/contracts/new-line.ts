import type { Schema } from '../../api/contract.ts'
import { isDecimal, isNegative } from '../../format/decimal.ts'

/** The kinds of lines. */
export type Kind = 'card' | 'price' | 'minimum' | 'credit'

/** What is typed for a line. Fields of other kinds stay, so that a change of mind loses nothing. */
export interface TypedLine {
  /** Tells lines apart while they are typed. */
  key: number
  kind: Kind
  cardId: string
  priceId: string
  quantity: string
  discount: string
  amount: string
  /** The metric or the currency of credit; empty for the currency of the contract. */
  sourceId: string
  expires: Schema<'ContractCreditExpiry'>
}

export const newLine = (key: number): TypedLine => ({
  key,
  kind: 'card',
  cardId: '',
  priceId: '',
  quantity: '',
  discount: '',
  amount: '',
  sourceId: '',
  expires: 'never',
})

/** What is wrong with a number that is typed, if something is. */
export const numberFault = (text: string): string | undefined =>
  text.trim() === '' || (isDecimal(text.trim()) && !isNegative(text.trim()))
    ? undefined
    : 'write it with digits and a point, as 12.5'

/** The line as the API takes it; undefined while something is missing or wrong. */
export function lineBody(line: TypedLine, currency: string): Schema<'NewContractLine'> | undefined {
  const { kind, cardId, priceId } = line
  const [quantity, discount, amount] = [line.quantity, line.discount, line.amount].map((text) => text.trim())
  if ([quantity, discount, amount].some((text) => numberFault(text ?? '') !== undefined)) return undefined
  const percent = discount === undefined || discount === '' ? {} : { discount_percent: discount }
  switch (kind) {
    case 'card':
      return cardId === '' ? undefined : { rate_card_id: cardId, ...percent }
    case 'price':
      return priceId === ''
        ? undefined
        : {
            price_id: priceId,
            ...(quantity === undefined || quantity === '' ? {} : { quantity }),
            ...percent,
          }
    case 'minimum':
      return amount === undefined || amount === '' ? undefined : { minimum_amount: amount }
    case 'credit':
      return amount === undefined || amount === ''
        ? undefined
        : { credit: creditBody(line, amount, currency) }
  }
}

function creditBody(
  { sourceId, expires }: TypedLine,
  amount: string,
  currency: string,
): Schema<'NewContractCredit'> {
  if (sourceId.startsWith('metric_')) return { amount, metric_id: sourceId }
  return { amount, currency, expires }
}
