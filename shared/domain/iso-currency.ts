import { code as findRecord } from 'currency-codes'

/** A currency of ISO 4217. */
export interface IsoCurrency {
  name: string
  /** The number of decimal places of its amounts; null if the standard gives none, as for gold. */
  minorUnits: number | null
}

/** Currencies that are in the standard since 31 March 2025. The list of the package is of June 2024. */
const NEWER: Readonly<Record<string, IsoCurrency>> = { xcg: { name: 'Caribbean Guilder', minorUnits: 2 } }

/**
 * Codes whose minor units are "N.A." in the standard, but 0 in the package. They are metals, bond units, baskets of
 * currencies, and the codes for tests and for no currency.
 */
const WITHOUT_MINOR_UNITS: ReadonlySet<string> = new Set(
  'xag xau xba xbb xbc xbd xdr xpd xpt xsu xts xua xxx'.split(' '),
)

/** @param code three lowercase letters */
export function findIsoCurrency(code: string): IsoCurrency | undefined {
  const record = findRecord(code)
  if (record === undefined) return NEWER[code]
  return { name: record.currency, minorUnits: WITHOUT_MINOR_UNITS.has(code) ? null : record.digits }
}
