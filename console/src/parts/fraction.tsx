import { approximate } from '../format/fraction.ts'
import { Decimal } from './decimal.tsx'

/** An exact number. A fraction has its first digits beside it, cut off: 100/31 ≈ 3.2258. */
export function Fraction({ value }: { value: string }) {
  const digits = approximate(value)
  if (digits === undefined) return <Decimal value={value} />
  return (
    <span>
      <Decimal value={value} /> ≈ <Decimal value={digits} />
    </span>
  )
}
