import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { ApiClient } from '../../support/api-client.ts'
import { findKafka } from '../../support/kafka.ts'
import { closeRedis, useRedis } from '../../support/redis.ts'
import { type RunningService, startService } from '../../support/start-service.ts'
import {
  envOfServices,
  type RunningServices,
  type SharedEngines,
  startServices,
  startSharedEngines,
} from '../../support/start-services.ts'
import { until } from '../../support/until.ts'
import { makeWorld } from '../../support/usage-world.ts'
import { ResetLoad } from './reset-load.ts'

interface Layout {
  name: string
  brokers?: (suite: Mocha.Context) => Promise<string>
  /** Settings of Redis. */
  env?: (suite: Mocha.Context) => Promise<Record<string, string>>
}

/** Redis and Kafka are independent, so each is present in one layout and absent in another. */
const LAYOUTS: readonly Layout[] = [
  { name: 'the log in PostgreSQL, and no Redis' },
  {
    name: 'the log in Kafka, and Redis',
    brokers: findKafka,
    env: async (suite) => {
      const { env } = await useRedis(suite)
      return env
    },
  },
]

/** Short timeouts, so that a stopped process is noticed within seconds. */
const QUICK = { REQUEST_TIMEOUT_MS: '6000' }

for (const { name, brokers, env } of LAYOUTS)
  describe(`the test area of two gateways and two APIs: ${name}`, function () {
    this.timeout(240_000)
    let engines: SharedEngines
    let services: RunningServices
    let others: { gateway: RunningService; api: RunningService }

    before(async function () {
      const given = await brokers?.(this)
      const settings = { ...QUICK, ...(await env?.(this)) }
      // Why separate services: the test needs two gateways and two APIs, and kills one.
      engines = await startSharedEngines('test_area', given)
      services = await startServices(engines, settings)
      const start = (of: 'gateway' | 'api') => startService(of, { ...envOfServices(engines), ...settings })
      const [gateway, api] = await Promise.all([start('gateway'), start('api')])
      others = { gateway, api }
    })
    after(async () => {
      const started = others as typeof others | undefined // nothing where the suite is pending
      await Promise.all([started?.gateway.stop(), started?.api.stop()])
      await (services as RunningServices | undefined)?.stop()
      await (engines as SharedEngines | undefined)?.close()
      await closeRedis()
    })

    it('keeps what reset promises under load', async () => {
      const load = new ResetLoad({
        key: services.testKey,
        gateways: [services.gateway.url, others.gateway.url],
        apis: [services.api.url, others.api.url],
      })
      await load.run(4, 600)
      expect(load.broken).to.deep.equal([])
      expect(load.acknowledged).to.be.above(500)
    })

    it('shows every process a clock that was moved by one, at once', async () => {
      const [one, other] = [services.api.url, others.api.url].map(
        (url) => new ApiClient(url, services.testKey),
      )
      if (one === undefined || other === undefined) throw new Error('no APIs')
      await one.create('/v2/test/reset', {})
      const { account } = await makeWorld(one)
      for (let days = 1; days <= 5; days++) {
        const { now } = await one.create<{ now: number }>('/v2/test/clock/advance', { seconds: 86_400 })
        const { body } = await other.get<{ now: number }>('/v2/test/clock')
        expect(body.now).to.be.within(now, now + 20)
        for (const { url } of [services.gateway, others.gateway]) {
          const gateway = new ApiClient(url, services.testKey)
          const event = { account_id: account, currency: 'usd', quantity: '1' }
          const reported = await gateway.create<{ occurred_at: number }>('/v2/events', event)
          expect(reported.occurred_at).to.be.within(now, now + 20)
        }
      }
    })

    it('answers 503 while a gateway stands still inside a report, and goes on once it is dead', async () => {
      const api = new ApiClient(services.api.url, services.testKey)
      await api.create('/v2/test/reset', {})
      const { account } = await makeWorld(api)
      const { gateway } = others
      const client = new ApiClient(gateway.url, services.testKey)
      const event = { account_id: account, currency: 'usd', quantity: '1' }
      const events = Array.from({ length: 1_000 }, () => event)
      let going = true
      const report = async () => {
        while (going) await client.post('/v2/events/batch', { events }).catch(() => sleep(20)) // it is killed meanwhile
      }
      const busy = Array.from({ length: 8 }, report)
      try {
        await stopInside(gateway, engines.db.pool)
        const refused = await api.post('/v2/test/reset', {})
        expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1'])
        expect((await api.get(`/v2/accounts/${account}`)).status).to.equal(200)
      } finally {
        going = false
        await gateway.kill9()
        await Promise.all(busy)
        await gateway.restart()
      }
      await until(async () => (await api.post('/v2/test/reset', {})).status === 200)
      expect((await api.get(`/v2/accounts/${account}`)).status).to.equal(404)
    })

    it('drains what any gateway acknowledged', async () => {
      const api = new ApiClient(services.api.url, services.testKey)
      const { account } = await makeWorld(api)
      for (const { url } of [services.gateway, others.gateway, services.gateway]) {
        const gateway = new ApiClient(url, services.testKey)
        const event = { account_id: account, currency: 'usd', quantity: '1' }
        await gateway.create('/v2/events/batch', { events: Array.from({ length: 500 }, () => event) })
      }
      await api.create('/v2/test/drain', {})
      const { body } = await new ApiClient(others.api.url, services.testKey).get<{ usage_total: string }>(
        `/v2/accounts/${account}/balance?currency=usd`,
      )
      expect(body.usage_total).to.equal('1500')
    })
  })

const INSIDE = `
  SELECT count(*)::int AS count FROM pg_locks
  WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted
    AND classid::bigint = (hashtext('tally.world')::bigint & 4294967295)`
/** After this time, PostgreSQL has executed all statements that a stopped process had sent. */
const SENT_MS = 200

/**
 * Stops the only gateway that accepts reports (SIGSTOP) while it is in the world of their company. At another point,
 * for example between two reports, it holds no lock. Then it is resumed for another try.
 */
async function stopInside({ process: child }: RunningService, pool: Pool): Promise<void> {
  await until(async () => {
    child.kill('SIGSTOP')
    await sleep(SENT_MS)
    const { rows } = await pool.query<{ count: number }>(INSIDE)
    if ((rows[0]?.count ?? 0) > 0) return true
    child.kill('SIGCONT')
    return false
  })
}
