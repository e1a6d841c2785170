import { newId } from '../../../shared/domain/ids.ts'
import type { Operation } from '../../../shared/http/operation.ts'
import { metricRepository } from '../../../shared/postgres/metrics.ts'
import { pageOf } from '../core/body-fields.ts'
import type { NamespaceOperations } from '../core/namespace-operations.ts'
import { pageIn } from '../core/page-query.ts'
import { metricToBody } from './body.ts'

/** Operations on metrics. Usage is measured in metrics. */
export const metricOperations = ({ read, change, once }: NamespaceOperations): Operation[] => [
  once('createMetric', { action: 'metric.created', toBody: metricToBody }, ({ db, namespaceId, body }) =>
    metricRepository(db).insert(namespaceId, {
      id: newId('metric'),
      externalId: body.external_id ?? null,
      name: body.name,
      description: body.description,
      measurementUnits: body.measurement_units,
      eventType: body.event_type ?? null,
      eventQuantity: body.event_quantity ?? null,
    }),
  ),
  read('listMetrics', pageOf(metricToBody), ({ db, namespaceId, query }) =>
    metricRepository(db).list(namespaceId, pageIn(query)),
  ),
  read('getMetricByExternalId', metricToBody, ({ db, namespaceId, params }) =>
    metricRepository(db).findByExternalId(namespaceId, params.external_id),
  ),
  read('getMetric', metricToBody, ({ db, namespaceId, params }) =>
    metricRepository(db).find(namespaceId, params.metric_id),
  ),
  change(
    'updateMetric',
    { action: 'metric.changed', toBody: metricToBody },
    ({ db, namespaceId, params, body }) =>
      metricRepository(db).update(namespaceId, params.metric_id, {
        externalId: body.external_id,
        name: body.name,
        description: body.description,
        measurementUnits: body.measurement_units,
        eventType: body.event_type,
        eventQuantity: body.event_quantity,
      }),
  ),
  change(
    'archiveMetric',
    { action: 'metric.archived', toBody: metricToBody },
    ({ db, namespaceId, params }) => metricRepository(db).archive(namespaceId, params.metric_id),
  ),
  change(
    'unarchiveMetric',
    { action: 'metric.unarchived', toBody: metricToBody },
    ({ db, namespaceId, params }) => metricRepository(db).unarchive(namespaceId, params.metric_id),
  ),
]
