import { DomainError } from '../../errors/domain-error.ts'
import { findIsoCurrency } from '../iso-currency.ts'

/**
 * Parses a currency for billing. Its amounts are rounded to the minor units that ISO 4217 gives for it.
 *
 * @param code three letters, upper or lower case
 * @param field the name of the field, for the error
 * @returns the code in lower case
 * @throws DomainError unprocessable when ISO 4217 does not have the code, or gives no minor units for it, as for gold
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
