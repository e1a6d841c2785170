import type { RequestHandler } from 'express'
import { newId } from '../../../shared/domain/ids.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { metricRepository } from '../../../shared/postgres/metrics.ts'
import type { Pool } from '../../../shared/postgres/pool.ts'
import { inNamespace } from '../../../shared/postgres/transaction.ts'
import type { Create } from '../create.ts'
import { metricToBody, pageToBody } from './bodies.ts'
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
      { route: 'POST /v2/metrics', key: idempotencyKeyOf(req) },
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
