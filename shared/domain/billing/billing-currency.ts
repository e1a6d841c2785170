import { DomainError } from '../../errors/domain-error.ts'
import { findIsoCurrency } from '../iso-currency.ts'

/**
 * A currency that can be billed in: one that says how its amounts are rounded.
 *
 * @param code three letters, upper or lower case
 * @param field where it stands, for the error
 * @returns the code in lower case
 * @throws DomainError unprocessable for what ISO 4217 does not know, and for what has no minor units there, such as
 *   gold
 */
export function parseBillingCurrency(code: string, field = 'currency'): string {
  const currency = code.toLowerCase()
  const minorUnits = findIsoCurrency(currency)?.minorUnits ?? null
  if (minorUnits === null)
    throw new DomainError(
      'unprocessable',
      `${field}: ISO 4217 has no currency ${JSON.stringify(code)} with minor units, which amounts are rounded to`,
    )
  return currency
}
