import type { Metric } from '../../../shared/domain/metric.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { present, secondsOf, secondsOrNull } from '../core/body-fields.ts'

export const metricToBody = (metric: Metric): SchemaOf<'Metric'> => ({
  id: metric.id,
  ...present<SchemaOf<'Metric'>>({ external_id: metric.externalId }),
  name: metric.name,
  description: metric.description,
  measurement_units: metric.measurementUnits,
  ...present<SchemaOf<'Metric'>>({ event_type: metric.eventType, event_quantity: metric.eventQuantity }),
  created_at: secondsOf(metric.createdAt),
  updated_at: secondsOf(metric.updatedAt),
  archived_at: secondsOrNull(metric.archivedAt),
})
