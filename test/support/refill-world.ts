import { refillBalances, type RefillOutcome } from '../../services/refill/refill-balances.ts'
import type { UsageReader } from '../../shared/clickhouse/usage/usage-aggregates.ts'
import { usageThroughRollups } from '../../shared/clickhouse/usage/usage-through-rollups.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import type { SchemaOf } from '../../shared/http/operation.ts'
import type { RefillConfigurationKey } from '../../shared/postgres/refill-configurations.ts'
import type { RefillLimits } from '../../shared/postgres/refills.ts'
import { testLog } from './log.ts'
import type { RunningApi } from './start-api.ts'
import { makeStoredWorld } from './stored-world.ts'
import { makeCorrection } from './usage-event.ts'

export type RefillBody = SchemaOf<'Refill'>

/** Limits that no test reaches. */
export const NO_LIMITS: RefillLimits = { intervalMs: 0, perDayMax: 100_000 }

/**
 * Makes an account and a metric with a refill configuration, and functions to report usage, to change it and to refill.
 */
export async function makeRefillWorld(running: RunningApi, amounts: object = {}) {
  const world = await makeStoredWorld(running, 1, 1)
  const { api, account, namespaceId } = world
  const [metric = ''] = world.metrics
  const key = { accountId: account, metricId: metric }
  const path = `/v2/refill-configurations/${account}/${metric}`
  await api.create('/v2/refill-configurations', {
    account_id: account,
    metric_id: metric,
    minimum_balance: '10',
    target_balance: '50',
    ...amounts,
  })
  const usage = usageThroughRollups(running.clickhouse)
  const refillOnce = async (
    options: { now?: () => Date; limits?: RefillLimits; usage?: Pick<UsageReader, 'sumByAccount'> } = {},
    of: RefillConfigurationKey = key,
  ): Promise<RefillOutcome> => {
    const deps = {
      pool: running.pool,
      usage: options.usage ?? usage,
      nowOf: () => Promise.resolve(options.now?.() ?? new Date()),
      log: testLog,
    }
    const [outcome] = await refillBalances(deps, options.limits ?? NO_LIMITS)(namespaceId, [of])
    if (outcome === undefined) throw new Error('nothing came of it')
    return outcome
  }
  return {
    ...world,
    metric,
    key,
    path,
    sumByAccount: usage.sumByAccount.bind(usage),
    refillOnce,
    /** Tries to refill once. @returns the outcome */
    refill: async (options: Parameters<typeof refillOnce>[0] = {}): Promise<string> =>
      (await refillOnce(options)).kind,
    use: async (quantity: string): Promise<UsageEvent> => {
      const [event] = await world.store({ source: metric, quantity, acceptedAt: Date.now() * 1_000 })
      return event as UsageEvent
    },
    correct: async (event: UsageEvent, change: Partial<UsageEvent>): Promise<UsageEvent> => {
      const corrected = makeCorrection(event, change)
      await running.store([corrected])
      return corrected
    },
    grantMetric: (fields: object) => world.grant({ metric_id: metric, ...fields }),
    patch: (body: object) => api.patch(path, body),
    refills: async (): Promise<readonly RefillBody[]> =>
      (await api.get<SchemaOf<'RefillPage'>>(`${path}/refills`)).body.data,
    balance: async (): Promise<string> =>
      (await api.get<SchemaOf<'Balance'>>(`/v2/accounts/${account}/balance?metric_id=${metric}`)).body
        .balance,
  }
}

export type RefillWorld = Awaited<ReturnType<typeof makeRefillWorld>>
