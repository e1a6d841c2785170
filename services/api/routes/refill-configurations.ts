import type { Request, RequestHandler } from 'express'
import { parseAmount } from '../../../shared/amount/amount.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import type { Pool } from '../../../shared/postgres/pool.ts'
import {
  refillConfigurationRepository,
  type NewRefillConfiguration,
  type RefillConfigurationChanges,
  type RefillConfigurationKey,
} from '../../../shared/postgres/refill-configurations.ts'
import { inNamespace } from '../../../shared/postgres/transaction.ts'
import type { Create } from '../create.ts'
import { answerOne } from './answer-one.ts'
import { pageToBody, refillConfigurationToBody } from './bodies.ts'
import { changeNamed } from './change-one.ts'
import { pageOfQuery } from './page-query.ts'

interface KeyBody {
  account_id: string
  metric_id: string
}

interface NewRefillConfigurationBody extends KeyBody {
  minimum_balance: string
  target_balance: string
  is_active: boolean
}

export function postRefillConfiguration(create: Create): RequestHandler {
  return async (req, res) => {
    const configuration = newConfigurationOf(req.body as NewRefillConfigurationBody)
    const made = await create(
      callerOf(res),
      {
        route: 'POST /v2/refill-configurations',
        key: idempotencyKeyOf(req),
        action: 'refill_configuration.created',
        changes: req.body as object,
        idOf: pathOf,
      },
      (db, namespaceId) => refillConfigurationRepository(db).insert(namespaceId, configuration),
    )
    res.json(refillConfigurationToBody(made))
  }
}

const newConfigurationOf = (body: NewRefillConfigurationBody): NewRefillConfiguration => ({
  ...keyOf(body),
  minimumBalance: parseAmount(body.minimum_balance),
  targetBalance: parseAmount(body.target_balance),
  isActive: body.is_active, // with the default of openapi.yaml filled in
})

export function listRefillConfigurations(pool: Pool): RequestHandler {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const { limit, startingAfter } = pageOfQuery(req)
    const after = startingAfter === undefined ? undefined : keyOfCursor(startingAfter)
    const filter = keyOf(req.query as Partial<KeyBody>)
    const page = await inNamespace(pool, namespaceId, (db) =>
      refillConfigurationRepository(db).list(namespaceId, filter, limit, after),
    )
    res.json(pageToBody(page, refillConfigurationToBody))
  }
}

/** A place in the list is the pair as it stands in the path of a configuration: `account_…/metric_…`. */
function keyOfCursor(cursor: string): RefillConfigurationKey {
  const [accountId = '', metricId = ''] = cursor.split('/')
  return { accountId, metricId }
}

/** As it stands in the path of a configuration. */
const pathOf = ({ accountId, metricId }: RefillConfigurationKey): string => `${accountId}/${metricId}`

type OfConfiguration = Request<{ account_id: string; metric_id: string }>

export const getRefillConfiguration = (pool: Pool) =>
  answerOne(pool, refillConfigurationToBody, (db, namespaceId, { params }: OfConfiguration) =>
    refillConfigurationRepository(db).find(namespaceId, keyOf(params)),
  )

export const patchRefillConfiguration = (pool: Pool) =>
  changeNamed(pool, {
    action: 'refill_configuration.changed',
    idOf: pathOf,
    toBody: refillConfigurationToBody,
    work: (db, namespaceId, { params, body }: OfConfiguration) =>
      refillConfigurationRepository(db).update(
        namespaceId,
        keyOf(params),
        changesOf(body as Partial<NewRefillConfigurationBody>),
      ),
  })

const changesOf = (body: Partial<NewRefillConfigurationBody>): RefillConfigurationChanges => ({
  minimumBalance: body.minimum_balance === undefined ? undefined : parseAmount(body.minimum_balance),
  targetBalance: body.target_balance === undefined ? undefined : parseAmount(body.target_balance),
  isActive: body.is_active,
})

/** Of a body or a query; in a query either may be left out. */
const keyOf = <T extends Partial<KeyBody>>({ account_id: accountId, metric_id: metricId }: T) => ({
  accountId: accountId as T['account_id'],
  metricId: metricId as T['metric_id'],
})
