import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { EVENT_CHANGES } from '../../api/queries/events.ts'
import { useWrite } from '../../api/use-write.ts'
import { compareDecimals, isDecimal } from '../../format/decimal.ts'
import { parseProperties } from '../../format/event-properties.ts'
import { visibleJson } from '../../format/visible-text.ts'
import { Field, FormDialog } from '../../parts/form.tsx'
import type { Source } from '../../parts/sources.ts'

type UsageEvent = Schema<'UsageEvent'>

/** What a dialog about an event takes. */
export interface EventDialogProps {
  event: UsageEvent
  source: Source | undefined
  onClose: () => void
  /** Called with the event as it was answered. */
  onDone: (event: UsageEvent | undefined) => void
}

const NAMES = ['quantity', 'properties']

/** Corrects the quantity of an event, its properties, or both. What is not changed here is not sent. */
export function CorrectEventDialog({ event, source, onClose, onDone }: EventDialogProps) {
  // The event as it was when the dialog opened: what others correct in the meantime is not taken back.
  const [before] = useState(event)
  const [quantity, setQuantity] = useState(before.quantity)
  const [properties, setProperties] = useState(() => visibleJson(before.properties))
  const write = useWrite<UsageEvent>(EVENT_CHANGES, ({ answer }) => onDone(answer))
  const typed = parseProperties(properties)
  const isQuantity = isDecimal(quantity.trim())
  const isOther = isQuantity && compareDecimals(quantity.trim(), before.quantity) !== 0
  const arePropertiesOther =
    'properties' in typed && JSON.stringify(typed.properties) !== JSON.stringify(before.properties)
  const body: Schema<'EventChanges'> = {
    ...(isOther ? { quantity: quantity.trim() } : {}),
    ...(arePropertiesOther ? { properties: typed.properties } : {}),
  }
  const isReady = isQuantity && 'properties' in typed && (isOther || arePropertiesOther)
  return (
    <FormDialog
      heading="Correct this event"
      write={write}
      request={isReady ? { method: 'PATCH', target: `/v2/events/${before.id}`, body } : undefined}
      names={NAMES}
      submit="Correct it"
      isTouched={quantity !== before.quantity || properties !== visibleJson(before.properties)}
      onClose={onClose}
    >
      <p>
        Usage, balances and invoice previews follow within moments. What was before stays in the revisions,
        with the key that corrected it.
      </p>
      <Field
        label={source === undefined ? 'Quantity' : `Quantity in ${source.unit}`}
        name="quantity"
        value={quantity}
        onChange={setQuantity}
        fault={isQuantity ? undefined : 'write it with digits and a point, as 12.5'}
        error={write.error}
        hint={`It was ${before.quantity}.`}
        isRequired
      />
      <Field
        label="Properties"
        name="properties"
        value={properties}
        onChange={setProperties}
        fault={'fault' in typed ? typed.fault : undefined}
        error={write.error}
        hint="All properties of the event from now on, as JSON."
        isMono
        isRequired
        rows={8}
      />
    </FormDialog>
  )
}
