import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { PRODUCT_CHANGES } from '../../api/queries/prices.ts'
import { useWrite } from '../../api/use-write.ts'
import { Field, FormDialog } from '../../parts/form.tsx'

const NAMES = ['name', 'external_id', 'description']
const [NAME_MAX, DESCRIPTION_MAX] = [256, 2_048]

/** Makes a product. */
export function NewProductDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [externalId, setExternalId] = useState('')
  const [description, setDescription] = useState('')
  const write = useWrite<Schema<'Product'>>(PRODUCT_CHANGES, onClose)
  const body: Schema<'NewProduct'> = {
    name: name.trim(),
    ...(externalId === '' ? {} : { external_id: externalId }),
    ...(description === '' ? {} : { description }),
  }
  return (
    <FormDialog
      heading="New product"
      write={write}
      request={body.name === '' ? undefined : { method: 'POST', target: '/v2/products', body }}
      names={NAMES}
      submit="Make the product"
      isTouched={name !== '' || externalId !== '' || description !== ''}
      onClose={onClose}
    >
      <Field
        label="Name"
        name="name"
        value={name}
        onChange={setName}
        error={write.error}
        hint="What a line of an invoice is called."
        isRequired
        maxLength={NAME_MAX}
      />
      <Field
        label="External id"
        name="external_id"
        value={externalId}
        onChange={setExternalId}
        error={write.error}
        hint="Your own id of it. No two products have the same."
        isMono
        maxLength={NAME_MAX}
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
