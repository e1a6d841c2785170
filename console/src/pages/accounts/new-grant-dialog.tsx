import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { BALANCE_CHANGES } from '../../api/queries/balances.ts'
import { useWrite } from '../../api/use-write.ts'
import { useNow } from '../../app/now.ts'
import { isDecimal } from '../../format/decimal.ts'
import { instantText, parseInstant } from '../../format/time.ts'
import { Field, FormDialog } from '../../parts/form.tsx'
import { type Source, sourceQuery } from '../../parts/sources.ts'

const NAMES = ['currency', 'amount', 'effective_at', 'expires_at', 'description']
const DESCRIPTION_MAX = 2_048

/** What is typed. */
interface Typed {
  currency: string
  amount: string
  from: string
  until: string
  description: string
}

const NOTHING: Typed = { currency: '', amount: '', from: '', until: '', description: '' }

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
  /** What is granted; undefined to ask for a currency. */
  source: Source | undefined
  onClose: () => void
}

/** Grants credit to an account. */
export function NewGrantDialog({ accountId, source, onClose }: NewGrantDialogProps) {
  const now = useNow()
  const [openedAt] = useState(now)
  const [typed, setTyped] = useState(NOTHING)
  const write = useWrite<Schema<'Grant'>>(BALANCE_CHANGES, onClose)
  const set = (name: keyof Typed) => (value: string) => setTyped({ ...typed, [name]: value })
  const faults = faultsOf(typed)
  const isNamed = source !== undefined || typed.currency.trim() !== ''
  const isReady =
    isNamed && typed.amount !== '' && Object.values(faults).every((fault) => fault === undefined)
  const body: Schema<'NewGrant'> = {
    account_id: accountId,
    ...(source === undefined ? { currency: typed.currency.trim() } : sourceQuery(source)),
    ...bodyOf(typed, openedAt),
  }
  return (
    <FormDialog
      heading={source === undefined ? 'Grant in a currency' : `Grant, ${source.label}`}
      write={write}
      request={isReady ? { method: 'POST', target: '/v2/grants', body } : undefined}
      names={NAMES}
      submit="Grant it"
      isTouched={Object.values(typed).some((text) => text !== '')}
      onClose={onClose}
    >
      {source === undefined && (
        <Field
          label="Currency"
          name="currency"
          value={typed.currency}
          onChange={set('currency')}
          error={write.error}
          hint="Its code of three letters, such as usd."
          isRequired
          maxLength={3}
        />
      )}
      <Field
        label={source === undefined ? 'Amount' : `Amount in ${source.unit}`}
        name="amount"
        value={typed.amount}
        onChange={set('amount')}
        fault={faults.amount}
        error={write.error}
        hint="A negative amount is a debit."
        isRequired
      />
      <Times typed={typed} set={set} now={openedAt} error={write.error} />
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

interface TimesProps {
  typed: Typed
  set: (name: keyof Typed) => (value: string) => void
  now: number
  error: Error | null
}

function Times({ typed, set, now, error }: TimesProps) {
  const faults = faultsOf(typed)
  return (
    <>
      <Field
        label="Counts from, UTC"
        name="effective_at"
        value={typed.from}
        onChange={set('from')}
        fault={faults.from}
        error={error}
        hint={`As ${instantText(now, 'utc')}. Empty: from now on.`}
      />
      <Field
        label="Until, UTC"
        name="expires_at"
        value={typed.until}
        onChange={set('until')}
        fault={faults.until}
        error={error}
        hint="Empty: it has no end."
      />
    </>
  )
}

const instantFault = (text: string): string | undefined =>
  text === '' || parseInstant(text) !== undefined ? undefined : 'write it as 2026-11-28 or 2026-11-28 09:30'
