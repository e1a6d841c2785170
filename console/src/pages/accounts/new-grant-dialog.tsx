import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { useWrite } from '../../api/use-write.ts'
import { useNow } from '../../app/now.ts'
import { isDecimal } from '../../format/decimal.ts'
import { instantText, parseInstant } from '../../format/time.ts'
import { Field, FormDialog } from '../../parts/form.tsx'
import { type Source, sourceQuery } from '../../parts/sources.ts'

const NAMES = ['amount', 'effective_at', 'expires_at', 'description']
const DESCRIPTION_MAX = 2_048

/** What is typed. */
interface Typed {
  amount: string
  from: string
  until: string
  description: string
}

const NOTHING: Typed = { amount: '', from: '', until: '', description: '' }

const faultsOf = ({ amount, from, until }: Typed) => ({
  amount: amount === '' || isDecimal(amount.trim()) ? undefined : 'write it with digits and a point, as 12.5',
  from: instantFault(from),
  until: instantFault(until),
})

function bodyOf({ amount, from, until, description }: Typed, now: number) {
  const expiresAt = until === '' ? undefined : parseInstant(until)
  return {
    amount: amount.trim(),
    effective_at: parseInstant(from) ?? now,
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    ...(description === '' ? {} : { description }),
  }
}

interface NewGrantDialogProps {
  accountId: string
  source: Source
  onClose: () => void
}

/** Grants credit to an account. */
export function NewGrantDialog({ accountId, source, onClose }: NewGrantDialogProps) {
  const now = useNow()
  const [openedAt] = useState(now)
  const [typed, setTyped] = useState(NOTHING)
  const write = useWrite<Schema<'Grant'>>(['/v2/grants', '/v2/accounts/balances'], onClose)
  const set = (name: keyof Typed) => (value: string) => setTyped({ ...typed, [name]: value })
  const faults = faultsOf(typed)
  const isReady = typed.amount !== '' && Object.values(faults).every((fault) => fault === undefined)
  const body: Schema<'NewGrant'> = {
    account_id: accountId,
    ...sourceQuery(source),
    ...bodyOf(typed, openedAt),
  }
  return (
    <FormDialog
      heading={`Grant, ${source.label}`}
      write={write}
      request={isReady ? { method: 'POST', target: '/v2/grants', body } : undefined}
      names={NAMES}
      submit="Grant it"
      isTouched={Object.values(typed).some((text) => text !== '')}
      onClose={onClose}
    >
      <Field
        label={`Amount in ${source.unit}`}
        name="amount"
        value={typed.amount}
        onChange={set('amount')}
        fault={faults.amount}
        error={write.error}
        hint="A negative amount is a debit."
        isRequired
      />
      <Field
        label="Counts from, UTC"
        name="effective_at"
        value={typed.from}
        onChange={set('from')}
        fault={faults.from}
        error={write.error}
        hint={`As ${instantText(openedAt, 'utc')}. Empty: from now on.`}
      />
      <Field
        label="Until, UTC"
        name="expires_at"
        value={typed.until}
        onChange={set('until')}
        fault={faults.until}
        error={write.error}
        hint="Empty: it has no end."
      />
      <Field
        label="Description"
        name="description"
        value={typed.description}
        onChange={set('description')}
        error={write.error}
        maxLength={DESCRIPTION_MAX}
      />
    </FormDialog>
  )
}

const instantFault = (text: string): string | undefined =>
  text === '' || parseInstant(text) !== undefined ? undefined : 'write it as 2026-11-28 or 2026-11-28 09:30'
