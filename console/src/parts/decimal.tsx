import './decimal.css'
import { createContext, useContext } from 'react'
import { fillPlaces, isNegative, partsOf } from '../format/decimal.ts'
import { visibleText } from '../format/visible-text.ts'

/** The decimal places of the column that a number stands in. */
export const PlacesContext = createContext(0)

/** What a number lacks of the places of its column. The styles make room for it, and write nothing. */
function Missing({ fraction }: { fraction: string }) {
  const missing = useContext(PlacesContext) - fraction.length
  if (missing <= 0) return null
  return (
    <span className="decimal__missing" data-digits={(fraction === '' ? '.' : '') + '0'.repeat(missing)} />
  )
}

/**
 * An exact number with groups of three digits. The groups are set apart by margins, so that a copy of the text, and a
 * screen reader, have the number as the API wrote it.
 */
export function Decimal({ value }: { value: string }) {
  const parts = partsOf(value)
  if (parts === undefined) return <span className="decimal">{value}</span>
  const { sign, groups, fraction } = parts
  return (
    <span className={isNegative(value) ? 'decimal decimal--below' : 'decimal'}>
      {sign}
      {groups.map((group, index) => (
        // The groups of a number have no other identity than their place.
        <span key={index} className="decimal__group">
          {group}
        </span>
      ))}
      {fraction !== '' && <span className="decimal__fraction">.{fraction}</span>}
      <Missing fraction={fraction} />
    </span>
  )
}

const NUMBER = /(\d+(?:\.\d+)?)/

/** Words with numbers in them, such as those of a price. */
export function Numbers({ children }: { children: string }) {
  return children.split(NUMBER).map((piece, index) =>
    // Every second piece is a number. A piece has no other identity than its place.
    index % 2 === 1 ? <Decimal key={index} value={piece} /> : piece,
  )
}

/** An amount, with as many decimal places as its currency has, or more if it has more digits. */
export function Money({
  value,
  currency,
  places,
}: {
  value: string
  currency: string
  places?: number | null
}) {
  return (
    <span className="money">
      <Decimal value={fillPlaces(value, places)} /> <span className="money__unit">{currency}</span>
    </span>
  )
}

/** A quantity and its unit, which is text of others. */
export function Quantity({ value, unit }: { value: string; unit: string }) {
  return (
    <span className="money">
      <Decimal value={value} /> <bdi className="money__unit">{visibleText(unit)}</bdi>
    </span>
  )
}
