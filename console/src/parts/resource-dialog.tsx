import { useState } from 'react'
import { useLocation } from 'wouter'
import type { ReadPath } from '../api/contract.ts'
import { useWrite } from '../api/use-write.ts'
import { expectArrival } from '../app/arrivals.ts'
import type { ApiRequest } from '../format/curl.ts'
import { Field, FormDialog } from './form.tsx'

const TEXT_MAX = 256

/** A field of text of a resource. The one called `name` is required. */
export interface TextField<Name extends string> {
  name: Name
  label: string
  hint?: string
  isMono?: boolean
  maxLength?: number
  /** What is sent for a text that was emptied. */
  emptied?: ''
}

/** The fields that resources of several kinds have. @param kinds how several of the kind are called */
export const COMMON_FIELDS = {
  name: { name: 'name', label: 'Name' },
  externalId: (kinds: string) => ({
    ...({ name: 'external_id', label: 'External id', isMono: true } as const),
    hint: `Your own id of it. No two ${kinds} have the same.`,
  }),
  description: { name: 'description', label: 'Description', maxLength: 2_048 },
} as const

interface ResourceDialogProps<Name extends string> {
  /** What the resource is called, such as metric. */
  kind: string
  /** Where one is made, and below which each one is changed. */
  path: string
  fields: readonly TextField<Name>[]
  /** The resource that is changed; undefined makes one. */
  resource: (Readonly<Partial<Record<Name, string>>> & { id: string }) | undefined
  /** The reads that change. */
  changes: readonly ReadPath[]
  /** The page of a resource that was made, if it is to be shown. */
  pageOf?: (id: string) => string
  onClose: () => void
}

/** Makes a resource of a few texts, or changes one. */
export function ResourceDialog<Name extends string>(props: ResourceDialogProps<Name>) {
  const { kind, path, fields, resource, changes, pageOf, onClose } = props
  // As it was when the dialog opened: what others change in the meantime is not taken back.
  const [before] = useState(() => new Map(fields.map(({ name }) => [name, resource?.[name] ?? ''])))
  const [typed, setTyped] = useState(before)
  const [, navigate] = useLocation()
  const write = useWrite<{ id: string }>(changes, ({ answer }) => {
    onClose()
    if (resource !== undefined || answer === undefined || pageOf === undefined) return
    expectArrival()
    navigate(pageOf(answer.id))
  })
  const changed = fields.filter(({ name }) => typed.get(name) !== before.get(name))
  const textOf = (name: Name) => (typed.get(name) ?? '').trim()
  const isNamed = fields.every(({ name }) => name !== 'name' || textOf(name) !== '')
  const body = Object.fromEntries(
    changed.map(({ name, emptied = null }) => [name, textOf(name) === '' ? emptied : textOf(name)]),
  )
  const request: ApiRequest =
    resource === undefined
      ? { method: 'POST', target: path, body }
      : { method: 'PATCH', target: `${path}/${resource.id}`, body }
  return (
    <FormDialog
      heading={resource === undefined ? `New ${kind}` : `Change the ${kind}`}
      write={write}
      request={changed.length > 0 && isNamed ? request : undefined}
      names={fields.map(({ name }) => name)}
      submit={resource === undefined ? `Make the ${kind}` : 'Change it'}
      isTouched={changed.length > 0}
      onClose={onClose}
    >
      {fields.map(({ name, label, hint, isMono, maxLength = TEXT_MAX }) => (
        <Field
          key={name}
          label={label}
          name={name}
          value={typed.get(name) ?? ''}
          onChange={(value) => setTyped(new Map(typed).set(name, value))}
          error={write.error}
          hint={hint}
          isRequired={name === 'name'}
          isMono={isMono ?? false}
          maxLength={maxLength}
        />
      ))}
    </FormDialog>
  )
}
