import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { ApiClient } from '../support/api-client.ts'
import { closeRedis, startRedis } from '../support/redis.ts'
import { type RunningService, startService } from '../support/start-service.ts'
import {
  envOfServices,
  type RunningServices,
  type SharedEngines,
  startServices,
  startSharedEngines,
} from '../support/start-services.ts'

/** The longest time until every process knows the end of a key. */
const CACHED_MS = 5_000
/** The time after a refusal in which the key must not become valid again. */
const AFTERWARDS_MS = 1_000
const EVERY_MS = 80

interface ApiKeyBody {
  id: string
  permissions: string[]
  last_used_at: number | null
}
interface Rotated {
  key: string
  api_key: ApiKeyBody
}

/** A process to which a test sends a key. */
interface Place {
  name: string
  try: (key: string) => Promise<number>
}

for (const withRedis of [false, true])
  describe(`a rotated key, in two gateways and two APIs ${withRedis ? 'with' : 'without'} Redis`, function () {
    this.timeout(120_000)
    let engines: SharedEngines
    let services: RunningServices
    const more: RunningService[] = []
    let manager: ApiClient
    let places: Place[]

    before(async function () {
      const redis = withRedis ? (await startRedis(this)).env : {}
      // Why separate services: the test needs two gateways and two APIs, with and without Redis.
      engines = await startSharedEngines(`rotated_keys_${withRedis ? 'redis' : 'alone'}`)
      services = await startServices(engines, redis)
      const env = { ...envOfServices(engines), ...redis }
      more.push(...(await Promise.all([startService('gateway', env), startService('api', env)])))
      manager = new ApiClient(services.url, services.key)
      const make = async (target: string) => (await manager.create<{ id: string }>(target, { name: 'x' })).id
      const [account_id, metric_id] = [await make('/v2/accounts'), await make('/v2/metrics')]
      const event = { account_id, metric_id, quantity: '1' }
      const [gateway, api] = more as [RunningService, RunningService]
      const [gateways, apis] = [
        [services.gateway, gateway],
        [services.api, api],
      ]
      places = [
        ...gateways.map(({ url }, n) => ({
          name: `gateway ${n}`,
          try: async (key: string) => (await new ApiClient(url, key).post('/v2/events', event)).status,
        })),
        ...apis.map(({ url }, n) => ({
          name: `api ${n}`,
          try: async (key: string) => (await new ApiClient(url, key).get('/v2/metrics')).status,
        })),
      ]
    })
    after(async () => {
      await Promise.all(more.map((service) => service.stop()))
      await (services as RunningServices | undefined)?.stop() // nothing where the suite is pending
      await (engines as SharedEngines | undefined)?.close()
      await closeRedis()
    })

    const issue = () =>
      manager.create<Rotated>('/v2/api-keys', { name: 'reporter', permissions: ['read:all', 'write:all'] })

    /** When a key ends, by the clock of this machine, which is the database's. */
    const endOf = async (id: string): Promise<number> => {
      const { rows } = await engines.db.pool.query<{ ms: number }>(
        'SELECT (extract(epoch FROM expires_at) * 1000)::float8 AS ms FROM api_keys WHERE key_id = $1',
        [id],
      )
      return rows[0]?.ms ?? 0
    }

    const isTaken = (status: number) => status === 200 || status === 202

    /**
     * Sends requests with a key until it is refused, and for some time after that.
     *
     * @returns when requests were sent that were taken, and when others were refused
     */
    const watch = async (place: Place, key: string, until: number) => {
      const taken: number[] = []
      const refused: number[] = []
      while (Date.now() < until + CACHED_MS * 2) {
        const at = Date.now()
        const status = await place.try(key)
        expect(status, place.name).to.be.oneOf([200, 202, 401])
        if (isTaken(status)) taken.push(at)
        else refused.push(Date.now())
        if (refused.length > 0 && at > (refused[0] ?? 0) + AFTERWARDS_MS) break
        await sleep(EVERY_MS)
      }
      return { name: place.name, taken, refused }
    }

    for (const overlapS of [7, 0])
      it(`works until its end and no more than five seconds after it (${overlapS} s of overlap)`, async () => {
        const { key, api_key } = await issue()
        for (const place of places) expect(isTaken(await place.try(key)), place.name).to.equal(true)
        const rotated = await manager.create<Rotated>(`/v2/api-keys/${api_key.id}/rotate`, {
          overlap_seconds: overlapS,
        })
        for (const place of places) expect(isTaken(await place.try(rotated.key)), place.name).to.equal(true)
        const end = await endOf(api_key.id)
        const seen = await Promise.all(places.map((place) => watch(place, key, end)))
        for (const { name, taken, refused } of seen) {
          const last = taken.at(-1) ?? 0
          const first = refused[0] ?? Infinity
          if (overlapS > 0) expect(taken.length, `${name}: it worked meanwhile`).to.be.greaterThan(20)
          expect(first, `${name}: not refused before its end`).to.be.at.least(end - 1)
          expect(last - end, `${name}: not taken long after it`).to.be.lessThan(CACHED_MS)
          expect(last, `${name}: refused for good`).to.be.lessThan(first)
        }
        const { body } = await manager.get<ApiKeyBody>(`/v2/api-keys/${rotated.api_key.id}`)
        expect(body.permissions).to.deep.equal(['read:all', 'write:all'])
      })

    it('leaves the time of its last use, once the process that took it has written it', async () => {
      const { key, api_key } = await issue()
      const before = await manager.get<ApiKeyBody>(`/v2/api-keys/${api_key.id}`)
      expect(before.body.last_used_at).to.equal(null)
      const [gateway] = more as [RunningService]
      const at = Math.floor(Date.now() / 1_000)
      await new ApiClient(gateway.url, key).post('/v2/events', {})
      await gateway.stop()
      const { body } = await manager.get<ApiKeyBody>(`/v2/api-keys/${api_key.id}`)
      expect(body.last_used_at).to.be.within(at - 1, at + 10)
    })
  })
