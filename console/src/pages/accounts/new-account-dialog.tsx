import { useState } from 'react'
import { useLocation } from 'wouter'
import type { Schema } from '../../api/contract.ts'
import { useWrite } from '../../api/use-write.ts'
import { expectArrival } from '../../app/arrivals.ts'
import { pathOf } from '../../app/routes.ts'
import { Field, FormDialog } from '../../parts/form.tsx'

const NAMES = ['name', 'external_id', 'service_customer_id', 'description']
const [NAME_MAX, DESCRIPTION_MAX] = [256, 2_048]

/** Makes an account, and goes to its page. */
export function NewAccountDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [externalId, setExternalId] = useState('')
  const [customerId, setCustomerId] = useState('')
  const [description, setDescription] = useState('')
  const [, navigate] = useLocation()
  const write = useWrite<Schema<'Account'>>(['/v2/accounts'], ({ answer }) => {
    onClose()
    if (answer === undefined) return
    expectArrival()
    navigate(pathOf('account', { accountId: answer.id }))
  })
  const body: Schema<'NewAccount'> = {
    name: name.trim(),
    ...(externalId === '' ? {} : { external_id: externalId }),
    ...(customerId === '' ? {} : { service_customer_id: customerId.trim() }),
    ...(description === '' ? {} : { description }),
  }
  return (
    <FormDialog
      heading="New account"
      write={write}
      request={body.name === '' ? undefined : { method: 'POST', target: '/v2/accounts', body }}
      names={NAMES}
      submit="Make the account"
      isTouched={name !== '' || externalId !== '' || customerId !== '' || description !== ''}
      onClose={onClose}
    >
      <Field
        label="Name"
        name="name"
        value={name}
        onChange={setName}
        error={write.error}
        isRequired
        maxLength={NAME_MAX}
      />
      <Field
        label="External id"
        name="external_id"
        value={externalId}
        onChange={setExternalId}
        error={write.error}
        hint="Your own id of it. No two accounts have the same."
        isMono
        maxLength={NAME_MAX}
      />
      <Field
        label="Customer"
        name="service_customer_id"
        value={customerId}
        onChange={setCustomerId}
        error={write.error}
        hint="The id of the customer it belongs to."
        isMono
      />
      <Field
        label="Description"
        name="description"
        value={description}
        onChange={setDescription}
        error={write.error}
        maxLength={DESCRIPTION_MAX}
      />
    </FormDialog>
  )
}
