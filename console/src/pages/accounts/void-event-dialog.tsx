import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { EVENT_CHANGES } from '../../api/queries/events.ts'
import { useWrite } from '../../api/use-write.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Field, FormDialog } from '../../parts/form.tsx'
import type { EventDialogProps } from './correct-event-dialog.tsx'

/** Asks for the quantity of an event before it stops counting, for good. */
export function VoidEventDialog({ event, source, onClose, onDone }: EventDialogProps) {
  const [typed, setTyped] = useState('')
  const write = useWrite<Schema<'UsageEvent'>>(EVENT_CHANGES, ({ answer }) => onDone(answer))
  const isTyped = typed.trim() === event.quantity
  return (
    <FormDialog
      heading="Void this event"
      write={write}
      request={isTyped ? { method: 'POST', target: `/v2/events/${event.id}/void` } : undefined}
      names={[]}
      submit="Void this event"
      isDangerous
      isTouched={false}
      onClose={onClose}
    >
      <p>
        {source === undefined ? event.quantity : <AmountOf value={event.quantity} source={source} />} no
        longer count, in usage, in balances and on invoices. This is for good: the event cannot be brought
        back, corrected or reported again.
      </p>
      <Field
        label={`Type ${event.quantity} to go on`}
        name="quantity"
        value={typed}
        onChange={setTyped}
        isRequired
      />
    </FormDialog>
  )
}
