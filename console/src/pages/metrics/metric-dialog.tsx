import type { Schema } from '../../api/contract.ts'
import { METRIC_CHANGES } from '../../api/queries/metrics.ts'
import { pathOf } from '../../app/routes.ts'
import { COMMON_FIELDS, ResourceDialog, type TextField } from '../../parts/resource-dialog.tsx'

/** As long as the name of a property may be. */
const PROPERTY_MAX = 100

const FIELDS: readonly TextField<keyof Schema<'NewMetric'>>[] = [
  { ...COMMON_FIELDS.name, hint: 'Such as tokens.' },
  {
    name: 'measurement_units',
    label: 'Unit',
    hint: 'Shown beside each quantity. Quantities are not converted when it changes.',
    emptied: '',
  },
  COMMON_FIELDS.externalId('metrics'),
  {
    name: 'event_type',
    label: 'Event type',
    hint: 'The type of the CloudEvents that it counts. Leave it empty if you send none.',
    isMono: true,
  },
  {
    name: 'event_quantity',
    label: 'Field with the quantity',
    hint: 'The field of a CloudEvent’s data. Without one, each event counts as 1.',
    isMono: true,
    maxLength: PROPERTY_MAX,
  },
  { ...COMMON_FIELDS.description, emptied: '' },
]

/** Makes a metric and goes to its page, or changes one. @param metric undefined makes one */
export const MetricDialog = ({
  metric,
  onClose,
}: {
  metric: Schema<'Metric'> | undefined
  onClose: () => void
}) => (
  <ResourceDialog
    kind="metric"
    path="/v2/metrics"
    fields={FIELDS}
    resource={metric}
    changes={METRIC_CHANGES}
    pageOf={(metricId) => pathOf('metric', { metricId })}
    onClose={onClose}
  />
)
