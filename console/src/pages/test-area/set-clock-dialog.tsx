import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { useWrite } from '../../api/use-write.ts'
import { instantText, parseInstant } from '../../format/time.ts'
import { Field, FormDialog } from '../../parts/form.tsx'

/** Sets the clock to an instant. */
export function SetClockDialog({ now, onClose }: { now: number; onClose: () => void }) {
  const [first] = useState(() => instantText(now, 'utc'))
  const [typed, setTyped] = useState(first)
  const write = useWrite<Schema<'TestClock'>>('all', onClose)
  const at = parseInstant(typed)
  const body: Schema<'TestClockTime'> | undefined = at === undefined ? undefined : { now: at }
  return (
    <FormDialog
      heading="Set the clock"
      write={write}
      request={body === undefined ? undefined : { method: 'PUT', target: '/v2/test/clock', body }}
      names={['now']}
      submit="Set the clock"
      isTouched={typed !== first}
      onClose={onClose}
    >
      <Field
        label="Time of the company, UTC"
        name="now"
        value={typed}
        onChange={setTyped}
        error={write.error}
        fault={at === undefined ? 'Write it as 2027-01-03 or 2027-01-03 12:00:00.' : undefined}
        hint="Only forward, by ten years at most. To go back, return to real time first."
        isRequired
        isMono
      />
    </FormDialog>
  )
}
