import { useState } from 'react'
import { useLocation } from 'wouter'
import type { Schema } from '../../api/contract.ts'
import { CUSTOMER_CHANGES } from '../../api/queries/customers.ts'
import { useWrite } from '../../api/use-write.ts'
import { expectArrival } from '../../app/arrivals.ts'
import { pathOf } from '../../app/routes.ts'
import type { ApiRequest } from '../../format/curl.ts'
import { Field, FormDialog } from '../../parts/form.tsx'

const TEXT_MAX = 256

const FIELDS = [
  { name: 'name', label: 'Name', hint: undefined },
  { name: 'external_id', label: 'External id', hint: 'Your own id of it. No two customers have the same.' },
  {
    name: 'payments_customer_id',
    label: 'Id at your payment provider',
    hint: 'Tally keeps it for you, and does nothing with it.',
  },
  {
    name: 'accounting_customer_id',
    label: 'Id in your accounting system',
    hint: 'A UUID. Tally keeps it for you, and does nothing with it.',
  },
] as const

/** What is typed. */
type Typed = Record<(typeof FIELDS)[number]['name'], string>

const typedOf = (customer: Schema<'Customer'> | undefined): Typed => ({
  name: customer?.name ?? '',
  external_id: customer?.external_id ?? '',
  payments_customer_id: customer?.payments_customer_id ?? '',
  accounting_customer_id: customer?.accounting_customer_id ?? '',
})

/** Makes a customer and goes to its page, or changes one. @param customer undefined makes one */
export function CustomerDialog({
  customer,
  onClose,
}: {
  customer: Schema<'Customer'> | undefined
  onClose: () => void
}) {
  const [before] = useState(() => typedOf(customer))
  const [typed, setTyped] = useState(before)
  const [, navigate] = useLocation()
  const write = useWrite<Schema<'Customer'>>(CUSTOMER_CHANGES, ({ answer }) => {
    onClose()
    if (customer !== undefined || answer === undefined) return
    expectArrival()
    navigate(pathOf('customer', { customerId: answer.id }))
  })
  return (
    <FormDialog
      heading={customer === undefined ? 'New customer' : 'Change the customer'}
      write={write}
      request={requestOf(customer?.id, before, typed)}
      names={FIELDS.map(({ name }) => name)}
      submit={customer === undefined ? 'Make the customer' : 'Change it'}
      isTouched={FIELDS.some(({ name }) => typed[name] !== before[name])}
      onClose={onClose}
    >
      {FIELDS.map(({ name, label, hint }) => (
        <Field
          key={name}
          label={label}
          name={name}
          value={typed[name]}
          onChange={(value) => setTyped({ ...typed, [name]: value })}
          error={write.error}
          hint={hint}
          isRequired={name === 'name'}
          isMono={name !== 'name'}
          maxLength={TEXT_MAX}
        />
      ))}
    </FormDialog>
  )
}

/** Only what was changed is sent, so that changes of others stay. A field that was emptied is cleared. */
function requestOf(id: string | undefined, before: Typed, typed: Typed): ApiRequest | undefined {
  const changed = FIELDS.map(({ name }) => name).filter((name) => typed[name] !== before[name])
  if (changed.length === 0 || typed.name.trim() === '') return undefined
  const fields: Partial<Record<keyof Typed, string | null>> = Object.fromEntries(
    changed.map((name) => [name, typed[name] === '' ? null : typed[name].trim()]),
  )
  if (id === undefined) {
    const body: Schema<'NewCustomer'> = { ...fields, name: typed.name.trim() }
    return { method: 'POST', target: '/v2/customers', body }
  }
  const { name, ...others } = fields
  const body: Schema<'CustomerChanges'> = { ...others, ...(typeof name === 'string' ? { name } : {}) }
  return { method: 'PATCH', target: `/v2/customers/${id}`, body }
}
