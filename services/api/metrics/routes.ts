import type { Request, RequestHandler } from 'express'
import { newId } from '../../../shared/domain/ids.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { metricRepository, type MetricChanges } from '../../../shared/postgres/metrics.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { idOf, type Create } from '../core/create.ts'
import { answerOne } from '../core/answer-one.ts'
import { pageToBody } from '../core/body-fields.ts'
import { metricToBody } from './body.ts'
import { changeOne } from '../core/change-one.ts'
import { pageOfQuery } from '../core/page-query.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf } from '../core/handler-of.ts'

/** Metrics: what usage is measured in. */
export const metricHandlers = (pool: Pool, create: Create): Handlers => ({
  createMetric: handlerOf(postMetric(create)),
  listMetrics: handlerOf(listMetrics(pool)),
  getMetric: handlerOf(getMetric(pool)),
  updateMetric: handlerOf(patchMetric(pool)),
  archiveMetric: handlerOf(archiveMetric(pool)),
  unarchiveMetric: handlerOf(unarchiveMetric(pool)),
})

interface NewMetricBody {
  name: string
  description: string
  measurement_units: string
}

function postMetric(create: Create): RequestHandler {
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

function listMetrics(pool: Pool): RequestHandler {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const page = await inNamespace(pool, namespaceId, (db) =>
      metricRepository(db).list(namespaceId, pageOfQuery(req)),
    )
    res.json(pageToBody(page, metricToBody))
  }
}

type OfMetric = Request<{ metric_id: string }>

const getMetric = (pool: Pool) =>
  answerOne(pool, metricToBody, (db, namespaceId, { params }: OfMetric) =>
    metricRepository(db).find(namespaceId, params.metric_id),
  )

const patchMetric = (pool: Pool) =>
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

const archiveMetric = (pool: Pool) =>
  changeOne(pool, {
    action: 'metric.archived',
    toBody: metricToBody,
    work: (db, namespaceId, { params }: OfMetric) =>
      metricRepository(db).archive(namespaceId, params.metric_id),
  })

const unarchiveMetric = (pool: Pool) =>
  changeOne(pool, {
    action: 'metric.unarchived',
    toBody: metricToBody,
    work: (db, namespaceId, { params }: OfMetric) =>
      metricRepository(db).unarchive(namespaceId, params.metric_id),
  })
