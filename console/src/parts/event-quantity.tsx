import type { Schema } from '../api/contract.ts'
import { AmountOf } from './amount-of.tsx'
import { sourceIdOf, type Sources } from './sources.ts'

/** The quantity of an event, struck out if it does not count. */
export function EventQuantity({ event, sources }: { event: Schema<'UsageEvent'>; sources: Sources }) {
  const amount = <AmountOf value={event.quantity} source={sources.find(sourceIdOf(event))} />
  return event.voided_at === undefined ? amount : <s>{amount}</s>
}
