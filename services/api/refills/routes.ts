import { parseAmount } from '../../../shared/amount/amount.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { Operation } from '../../../shared/http/operation.ts'
import {
  type RefillConfigurationKey,
  refillConfigurationRepository,
} from '../../../shared/postgres/refill-configurations.ts'
import { requestRefill } from '../../../shared/postgres/refill-requests.ts'
import { refillRepository } from '../../../shared/postgres/refills.ts'
import { pageOf } from '../core/body-fields.ts'
import type { NamespaceOperations } from '../core/namespace-operations.ts'
import { pageIn } from '../core/page-query.ts'
import { refillConfigurationToBody, refillToBody } from './body.ts'

const configurations = refillConfigurationRepository
const toBody = refillConfigurationToBody

/** Operations on refill configurations, and the list of refills that were made. */
export const refillOperations = ({ read, change, once }: NamespaceOperations): Operation[] => [
  once(
    'createRefillConfiguration',
    { action: 'refill_configuration.created', toBody, idOf: pathOf },
    async ({ db, namespaceId, body }) => {
      const key = keyOf(body)
      const inserted = await configurations(db).insert(namespaceId, {
        ...key,
        minimumBalance: parseAmount(body.minimum_balance),
        targetBalance: parseAmount(body.target_balance),
        isActive: body.is_active,
      })
      await requestRefill(db, { namespaceId, ...key })
      return inserted
    },
  ),
  read('listRefillConfigurations', pageOf(toBody), ({ db, namespaceId, query }) => {
    const { limit, startingAfter } = pageIn(query)
    const after = startingAfter === undefined ? undefined : keyOfCursor(startingAfter)
    const filter = { accountId: query.account_id, metricId: query.metric_id }
    return configurations(db).list(namespaceId, filter, limit, after)
  }),
  read('getRefillConfiguration', toBody, ({ db, namespaceId, params }) =>
    configurations(db).find(namespaceId, keyOf(params)),
  ),
  change(
    'updateRefillConfiguration',
    { action: 'refill_configuration.changed', toBody, idOf: pathOf },
    async ({ db, namespaceId, params, body }) => {
      const key = keyOf(params)
      const { minimum_balance: minimum, target_balance: target, is_active: isActive } = body
      const changed = await configurations(db).update(namespaceId, key, {
        minimumBalance: minimum === undefined ? undefined : parseAmount(minimum),
        targetBalance: target === undefined ? undefined : parseAmount(target),
        isActive,
      })
      await requestRefill(db, { namespaceId, ...key })
      return changed
    },
  ),
  read('listRefills', pageOf(refillToBody), async ({ db, namespaceId, params, query }) => {
    const key = keyOf(params)
    if ((await configurations(db).find(namespaceId, key)) === undefined)
      throw new DomainError('not_found', 'no such refill configuration')
    return refillRepository(db).list(namespaceId, key, pageIn(query))
  }),
]

interface KeyBody {
  account_id: string
  metric_id: string
}

const keyOf = ({ account_id: accountId, metric_id: metricId }: KeyBody): RefillConfigurationKey => ({
  accountId,
  metricId,
})

/** A cursor of the list is the pair of ids that the path of a configuration contains: `account_…/metric_…`. */
function keyOfCursor(cursor: string): RefillConfigurationKey {
  const [accountId = '', metricId = ''] = cursor.split('/')
  return { accountId, metricId }
}

/** The pair in the path of a configuration. */
function pathOf({ account_id: accountId, metric_id: metricId }: KeyBody): string {
  return `${accountId}/${metricId}`
}
