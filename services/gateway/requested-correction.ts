import { canonicalAmount } from '../../shared/amount/amount.ts'
import type { EventCorrection } from '../../shared/domain/correct-event.ts'
import { checkProperties, type Properties, propertyPairs } from '../../shared/domain/properties.ts'
import { type Fault, impossible, malformed } from './faults.ts'

/** A requested correction, after the check against openapi.yaml. */
export interface RequestedCorrection {
  event_id: string
  quantity?: string
  properties?: Properties
  void?: true
}

/** A correction after all checks. */
export interface CheckedCorrection {
  eventId: string
  correction: EventCorrection
  hasNumber: boolean
}

/** Checks one correction for faults that a schema cannot express, as strictly as checkEvent checks a report. */
export function checkCorrection(correction: RequestedCorrection): CheckedCorrection | Fault {
  const { event_id: eventId, quantity, properties } = correction
  if (correction.void === true) {
    if (quantity !== undefined || properties !== undefined)
      return impossible('void: cannot be combined with quantity or properties')
    return { eventId, correction: { void: true }, hasNumber: false }
  }
  if (quantity === undefined && properties === undefined)
    return impossible('quantity, properties: at least one of them is required')
  const ofQuantity = quantity === undefined ? {} : { quantity: canonicalAmount(quantity) }
  if (properties === undefined) return { eventId, correction: ofQuantity, hasNumber: false }
  const checked = checkProperties(properties)
  if ('fault' in checked) return malformed(`properties: they ${checked.fault}`)
  return {
    eventId,
    correction: { ...ofQuantity, properties: checked.json, propertyPairs: propertyPairs(properties) },
    hasNumber: checked.hasNumber,
  }
}
