import type { Request, RequestHandler } from 'express'
import { newId } from '../../../shared/domain/ids.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { metricRepository, type MetricChanges } from '../../../shared/postgres/metrics.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { idOf, type Create } from '../create.ts'
import { answerOne } from './answer-one.ts'
import { metricToBody, pageToBody } from './bodies.ts'
import { changeOne } from './change-one.ts'
import { pageOfQuery } from './page-query.ts'

interface NewMetricBody {
  name: string
  description: string
  measurement_units: string
}

export function postMetric(create: Create): RequestHandler {
  return async (req, res) => {
    const body = req.body as NewMetricBody // with the defaults of openapi.yaml filled in
    const metric = await create(
      callerOf(res),
      {
        route: 'POST /v2/metrics',
        key: idempotencyKeyOf(req),
        action: 'metric.created',
        changes: body,
        idOf,
      },
      (db, namespaceId) =>
        metricRepository(db).insert(namespaceId, {
          id: newId('metric'),
          name: body.name,
          description: body.description,
          measurementUnits: body.measurement_units,
        }),
    )
    res.json(metricToBody(metric))
  }
}

export function listMetrics(pool: Pool): RequestHandler {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const page = await inNamespace(pool, namespaceId, (db) =>
      metricRepository(db).list(namespaceId, pageOfQuery(req)),
    )
    res.json(pageToBody(page, metricToBody))
  }
}

type OfMetric = Request<{ metric_id: string }>

export const getMetric = (pool: Pool) =>
  answerOne(pool, metricToBody, (db, namespaceId, { params }: OfMetric) =>
    metricRepository(db).find(namespaceId, params.metric_id),
  )

export const patchMetric = (pool: Pool) =>
  changeOne(pool, {
    action: 'metric.changed',
    toBody: metricToBody,
    work: (db, namespaceId, { params, body }: OfMetric) =>
      metricRepository(db).update(namespaceId, params.metric_id, changesOf(body as Partial<NewMetricBody>)),
  })

const changesOf = (body: Partial<NewMetricBody>): MetricChanges => ({
  name: body.name,
  description: body.description,
  measurementUnits: body.measurement_units,
})

export const archiveMetric = (pool: Pool) =>
  changeOne(pool, {
    action: 'metric.archived',
    toBody: metricToBody,
    work: (db, namespaceId, { params }: OfMetric) =>
      metricRepository(db).archive(namespaceId, params.metric_id),
  })

export const unarchiveMetric = (pool: Pool) =>
  changeOne(pool, {
    action: 'metric.unarchived',
    toBody: metricToBody,
    work: (db, namespaceId, { params }: OfMetric) =>
      metricRepository(db).unarchive(namespaceId, params.metric_id),
  })
