import type { Schema } from '../../api/contract.ts'
import type { Names } from './names.ts'

type Line = Schema<'InvoiceLine'>

/** What tells the lines of an invoice apart. */
type LineKey = Pick<Line, 'contract_line_id' | 'rate_id' | 'value' | 'start_at'>

export const keyOf = ({ contract_line_id: id, rate_id: rate, value, start_at: at }: LineKey): string =>
  JSON.stringify([id, rate, value, at])

/** The name of the card that a line follows; undefined for a price of the contract itself. */
export const cardOf = (
  { contract_line_id: id }: Pick<Line, 'contract_line_id'>,
  lines: readonly Schema<'ContractLine'>[],
  names: Names,
): string | undefined => {
  const cardId = lines.find((line) => line.id === id)?.rate_card_id
  return cardId === undefined ? undefined : names.rateCard(cardId)
}

/** The part of the usage that a line is for: `model = large`; undefined for all of it. */
export function partOf({ group_by: property, value }: Pick<Line, 'group_by' | 'value'>): string | undefined {
  if (property === null) return undefined
  return value === null ? `other values of ${property}` : `${property} = ${value}`
}
