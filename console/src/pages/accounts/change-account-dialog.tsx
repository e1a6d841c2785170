import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { ACCOUNT_CHANGES } from '../../api/queries/accounts.ts'
import { useWrite } from '../../api/use-write.ts'
import { Field, FormDialog } from '../../parts/form.tsx'

const FIELDS = ['name', 'external_id', 'service_customer_id', 'description'] as const
const [NAME_MAX, DESCRIPTION_MAX] = [256, 2_048]

type Typed = Record<(typeof FIELDS)[number], string>

const typedOf = (account: Schema<'Account'>): Typed => ({
  name: account.name,
  external_id: account.external_id ?? '',
  service_customer_id: account.service_customer_id ?? '',
  description: account.description ?? '',
})

/** What is sent: only what differs. An empty field is cleared. */
function bodyOf(before: Typed, typed: Typed): Schema<'AccountChanges'> {
  const changed = FIELDS.filter((name) => typed[name] !== before[name])
  return Object.fromEntries(changed.map((name) => [name, typed[name] === '' ? null : typed[name]]))
}

/** Changes what an account is called and whose it is. */
export function ChangeAccountDialog({
  account,
  onClose,
}: {
  account: Schema<'Account'>
  onClose: () => void
}) {
  // The account as it was when the dialog opened: what others change in the meantime is not taken back.
  const [before] = useState(() => typedOf(account))
  const [typed, setTyped] = useState(before)
  const write = useWrite<Schema<'Account'>>(ACCOUNT_CHANGES, onClose)
  const set = (name: keyof Typed) => (value: string) => setTyped({ ...typed, [name]: value })
  const body = bodyOf(before, typed)
  const isTouched = Object.keys(body).length > 0
  const field = (name: keyof Typed) => ({
    name,
    value: typed[name],
    onChange: set(name),
    error: write.error,
  })
  return (
    <FormDialog
      heading="Change this account"
      write={write}
      request={
        isTouched && typed.name.trim() !== ''
          ? { method: 'PATCH', target: `/v2/accounts/${account.id}`, body }
          : undefined
      }
      names={FIELDS}
      submit="Change it"
      isTouched={isTouched}
      onClose={onClose}
    >
      <Field {...field('name')} label="Name" isRequired maxLength={NAME_MAX} />
      <Field
        {...field('external_id')}
        label="External id"
        hint="Your own id of it. No two accounts have the same."
        isMono
        maxLength={NAME_MAX}
      />
      <Field
        {...field('service_customer_id')}
        label="Customer"
        hint="The id of the customer it belongs to."
        isMono
      />
      <Field {...field('description')} label="Description" maxLength={DESCRIPTION_MAX} />
    </FormDialog>
  )
}
