import { Money, Quantity } from './decimal.tsx'
import type { Source } from './sources.ts'

/** An exact number in the unit of its source. */
export function AmountOf({ value, source }: { value: string; source: Source }) {
  if (source.isMetric) return <Quantity value={value} unit={source.unit} />
  return <Money value={value} currency={source.unit} places={source.places ?? null} />
}
