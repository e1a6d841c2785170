import { useState } from 'react'
import { useLocation } from 'wouter'
import type { Schema } from '../../api/contract.ts'
import { METRIC_CHANGES } from '../../api/queries/metrics.ts'
import { useWrite } from '../../api/use-write.ts'
import { expectArrival } from '../../app/arrivals.ts'
import { pathOf } from '../../app/routes.ts'
import type { ApiRequest } from '../../format/curl.ts'
import { Field, FormDialog } from '../../parts/form.tsx'

const [NAME_MAX, DESCRIPTION_MAX, PROPERTY_MAX] = [256, 2_048, 100]

/** What is typed. */
interface Typed {
  name: string
  measurement_units: string
  external_id: string
  event_type: string
  event_quantity: string
  description: string
}

const typedOf = (metric: Schema<'Metric'> | undefined): Typed => ({
  name: metric?.name ?? '',
  measurement_units: metric?.measurement_units ?? '',
  external_id: metric?.external_id ?? '',
  event_type: metric?.event_type ?? '',
  event_quantity: metric?.event_quantity ?? '',
  description: metric?.description ?? '',
})

const FIELDS = [
  { name: 'name', label: 'Name', hint: 'Such as tokens.', max: NAME_MAX },
  {
    name: 'measurement_units',
    label: 'Unit',
    hint: 'Shown beside each quantity. Quantities are not converted when it changes.',
    max: NAME_MAX,
  },
  {
    name: 'external_id',
    label: 'External id',
    hint: 'Your own id of it. No two metrics have the same.',
    max: NAME_MAX,
  },
  {
    name: 'event_type',
    label: 'Event type',
    hint: 'The type of the CloudEvents that it counts. Leave it empty if you send none.',
    max: NAME_MAX,
  },
  {
    name: 'event_quantity',
    label: 'Field with the quantity',
    hint: 'The field of a CloudEvent’s data. Without one, each event counts as 1.',
    max: PROPERTY_MAX,
  },
  { name: 'description', label: 'Description', hint: undefined, max: DESCRIPTION_MAX },
] as const

/** Names that programs use. When they are empty, they have no value. */
const NAMES = new Set<keyof Typed>(['external_id', 'event_type', 'event_quantity'])

/** Makes a metric and goes to its page, or changes one. @param metric undefined makes one */
export function MetricDialog({
  metric,
  onClose,
}: {
  metric: Schema<'Metric'> | undefined
  onClose: () => void
}) {
  const [before] = useState(() => typedOf(metric))
  const [typed, setTyped] = useState(before)
  const [, navigate] = useLocation()
  const write = useWrite<Schema<'Metric'>>(METRIC_CHANGES, ({ answer }) => {
    onClose()
    if (metric !== undefined || answer === undefined) return
    expectArrival()
    navigate(pathOf('metric', { metricId: answer.id }))
  })
  return (
    <FormDialog
      heading={metric === undefined ? 'New metric' : 'Change the metric'}
      write={write}
      request={metric === undefined ? newRequest(typed) : changeRequest(metric.id, before, typed)}
      names={FIELDS.map(({ name }) => name)}
      submit={metric === undefined ? 'Make the metric' : 'Change it'}
      isTouched={FIELDS.some(({ name }) => typed[name] !== before[name])}
      onClose={onClose}
    >
      {FIELDS.map(({ name, label, hint, max }) => (
        <Field
          key={name}
          label={label}
          name={name}
          value={typed[name]}
          onChange={(value) => setTyped({ ...typed, [name]: value })}
          error={write.error}
          hint={hint}
          isRequired={name === 'name'}
          isMono={NAMES.has(name)}
          maxLength={max}
        />
      ))}
    </FormDialog>
  )
}

function newRequest(typed: Typed): ApiRequest | undefined {
  const name = typed.name.trim()
  if (name === '') return undefined
  const body: Schema<'NewMetric'> = {
    name,
    ...(typed.measurement_units === '' ? {} : { measurement_units: typed.measurement_units }),
    ...(typed.external_id === '' ? {} : { external_id: typed.external_id }),
    ...(typed.event_type === '' ? {} : { event_type: typed.event_type }),
    ...(typed.event_quantity === '' ? {} : { event_quantity: typed.event_quantity }),
    ...(typed.description === '' ? {} : { description: typed.description }),
  }
  return { method: 'POST', target: '/v2/metrics', body }
}

/** Only what was changed is sent, so that changes of others stay. */
function changeRequest(id: string, before: Typed, typed: Typed): ApiRequest | undefined {
  const changed = FIELDS.filter(({ name }) => typed[name] !== before[name]).map(({ name }) => name)
  if (changed.length === 0 || typed.name.trim() === '') return undefined
  const valueOf = (name: keyof Typed) => (NAMES.has(name) && typed[name] === '' ? null : typed[name])
  const body: Schema<'MetricChanges'> = Object.fromEntries(changed.map((name) => [name, valueOf(name)]))
  return { method: 'PATCH', target: `/v2/metrics/${id}`, body }
}
