import type { Request, RequestHandler } from 'express'
import { parseAmount } from '../../../shared/amount/amount.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import {
  refillConfigurationRepository,
  type NewRefillConfiguration,
  type RefillConfigurationChanges,
  type RefillConfigurationKey,
} from '../../../shared/postgres/refill-configurations.ts'
import { requestRefill } from '../../../shared/postgres/refill-requests.ts'
import { refillRepository } from '../../../shared/postgres/refills.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import type { Create } from '../core/create.ts'
import { answerOne } from '../core/answer-one.ts'
import { pageToBody } from '../core/body-fields.ts'
import { refillConfigurationToBody, refillToBody } from './body.ts'
import { changeNamed } from '../core/change-one.ts'
import { pageOfQuery } from '../core/page-query.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf } from '../core/handler-of.ts'

/** Refill configurations, and what was refilled. */
export const refillHandlers = (pool: Pool, create: Create): Handlers => ({
  createRefillConfiguration: handlerOf(postRefillConfiguration(create)),
  listRefillConfigurations: handlerOf(listRefillConfigurations(pool)),
  getRefillConfiguration: handlerOf(getRefillConfiguration(pool)),
  updateRefillConfiguration: handlerOf(patchRefillConfiguration(pool)),
  listRefills: handlerOf(listRefills(pool)),
})

interface KeyBody {
  account_id: string
  metric_id: string
}

interface NewRefillConfigurationBody extends KeyBody {
  minimum_balance: string
  target_balance: string
  is_active: boolean
}

function postRefillConfiguration(create: Create): RequestHandler {
  return async (req, res) => {
    const body = req.body as NewRefillConfigurationBody
    const configuration = newConfigurationOf(body)
    const made = await create(
      callerOf(res),
      {
        route: 'POST /v2/refill-configurations',
        key: idempotencyKeyOf(req),
        action: 'refill_configuration.created',
        changes: req.body as object,
        idOf: pathOf,
      },
      async (db, namespaceId) => {
        const inserted = await refillConfigurationRepository(db).insert(namespaceId, configuration)
        await requestRefill(db, { namespaceId, ...keyOf(body) })
        return inserted
      },
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

function listRefillConfigurations(pool: Pool): RequestHandler {
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

const getRefillConfiguration = (pool: Pool) =>
  answerOne(pool, refillConfigurationToBody, (db, namespaceId, { params }: OfConfiguration) =>
    refillConfigurationRepository(db).find(namespaceId, keyOf(params)),
  )

const patchRefillConfiguration = (pool: Pool) =>
  changeNamed(pool, {
    action: 'refill_configuration.changed',
    idOf: pathOf,
    toBody: refillConfigurationToBody,
    work: async (db, namespaceId, { params, body }: OfConfiguration) => {
      const key = keyOf(params)
      const changes = changesOf(body as Partial<NewRefillConfigurationBody>)
      const changed = await refillConfigurationRepository(db).update(namespaceId, key, changes)
      await requestRefill(db, { namespaceId, ...key })
      return changed
    },
  })

function listRefills(pool: Pool): RequestHandler<OfConfiguration['params']> {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const key = keyOf(req.params)
    const page = await inNamespace(pool, namespaceId, async (db) => {
      if ((await refillConfigurationRepository(db).find(namespaceId, key)) === undefined)
        throw new DomainError('not_found', 'no such refill configuration')
      return refillRepository(db).list(namespaceId, key, pageOfQuery(req))
    })
    res.json(pageToBody(page, refillToBody))
  }
}

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
