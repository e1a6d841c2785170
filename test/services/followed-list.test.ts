import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { ApiClient } from '../support/api-client.ts'
import { type RunningService, startService } from '../support/start-service.ts'
import {
  envOfServices,
  type RunningServices,
  type SharedEngines,
  startServices,
  startSharedEngines,
} from '../support/start-services.ts'
import { until } from '../support/until.ts'
import { type EventBody, makeWorld } from '../support/usage-world.ts'

/** With these settings a crashed gateway delays the list for about 15 s. */
const QUICK = {
  GATEWAY_WITHOUT_POSTGRES_MAX_S: '2',
  EVENT_LOG_APPEND_TIMEOUT_MS: '500',
  DATABASE_STATEMENT_TIMEOUT_MS: '2000',
}

describe('the list of events over several gateways', function () {
  this.timeout(180_000)
  let engines: SharedEngines
  let services: RunningServices
  let second: RunningService

  before(async () => {
    // Why separate services: gateways are stopped and killed.
    engines = await startSharedEngines('followed')
    services = await startServices(engines, QUICK)
    second = await startService('gateway', { ...envOfServices(engines), ...QUICK })
  })
  after(async () => {
    await second.stop()
    await services.stop()
    await engines.close()
  })

  const gatewayIds = async () => {
    const { rows } = await engines.db.pool.query<{ gateway_id: string }>('SELECT gateway_id FROM gateways')
    return rows.map(({ gateway_id: id }) => id)
  }

  it('lets nobody who keeps the last id miss an event, while gateways stop, are stopped and killed', async () => {
    const api = new ApiClient(services.url, services.key)
    const world = await makeWorld(api)
    const accepted = new Set<string>()
    let running = true
    const isRunning = () => running
    const headers = { 'x-api-key': services.key, 'content-type': 'application/json' }
    const report = async (gateway: RunningService) => {
      const events = Array.from({ length: 1 + Math.floor(Math.random() * 5) }, () => ({
        account_id: world.account,
        metric_id: world.tokens,
        quantity: '1',
      }))
      const signal = AbortSignal.timeout(5_000)
      const request = { method: 'POST', headers, body: JSON.stringify({ events }), signal }
      const response = await fetch(`${gateway.url}/v2/events/batch`, request)
      if (response.status !== 202) return
      for (const id of ((await response.json()) as { event_ids: string[] }).event_ids) accepted.add(id)
    }
    const reporter = async (gateway: RunningService) => {
      while (isRunning()) {
        await report(gateway).catch(() => sleep(50))
        await sleep(Math.random() * 20)
      }
    }
    const followed: string[] = []
    const follow = async () => {
      const after = followed.length === 0 ? '' : `&starting_after=${followed.at(-1) ?? ''}`
      const { body } = await api.get<{ data: EventBody[] }>(`/v2/events?limit=100${after}`)
      followed.push(...body.data.map(({ id }) => id))
    }
    const follower = async () => {
      while (isRunning()) {
        await follow()
        await sleep(20)
      }
    }
    const busy = [services.gateway, services.gateway, second, second].map(reporter).concat(follower())

    await sleep(2_000)
    await second.kill9()
    await sleep(500)
    await second.restart()
    await sleep(1_000)
    services.gateway.process.kill('SIGSTOP')
    await sleep(3_000)
    services.gateway.process.kill('SIGCONT')
    await sleep(1_000)
    await second.stop()
    await second.restart()
    await sleep(2_000)
    running = false
    await Promise.all(busy)
    expect(accepted.size).to.be.above(100)
    await until(async () => {
      await follow()
      return [...accepted].every((id) => followed.includes(id))
    }, 60_000)
    expect(new Set(followed).size, 'each once').to.equal(followed.length)
  })

  it('shows an event within seconds, and waits for no gateway that stopped in an orderly way', async () => {
    const api = new ApiClient(services.url, services.key)
    const world = await makeWorld(api)
    await second.stop()
    const { body, status } = await world.report({ metric_id: world.tokens, quantity: '1' })
    expect(status).to.equal(202)
    const startedAt = performance.now()
    await until(async () => {
      const page = await api.get<{ data: EventBody[] }>(`/v2/events?account_id=${world.account}`)
      return page.body.data.some(({ id }) => id === body.id)
    })
    expect(performance.now() - startedAt).to.be.below(10_000)
    // Others may remove rows of gateways that were killed at any time.
    const before = await gatewayIds()
    await second.restart()
    const [started, ...more] = (await gatewayIds()).filter((id) => !before.includes(id))
    expect(started).to.be.a('string')
    expect(more).to.deep.equal([])
    await second.stop()
    expect(await gatewayIds()).to.not.include(started)
  })

  it('is not kept waiting by a gateway that slept for longer than others wait for it', async () => {
    const gateway = await startService('gateway', { ...envOfServices(engines), ...QUICK })
    const ready = async () => (await fetch(`${gateway.adminUrl}/readyz`)).status
    await until(async () => (await ready()) === 200) // a busy machine may delay its renewal
    gateway.process.kill('SIGSTOP')
    await sleep(3_500)
    gateway.process.kill('SIGCONT')
    // The gateway continues with a row for which others no longer wait, and accepts reports again when it has a new
    // row.
    await until(async () => (await ready()) === 200)
    expect(await gateway.stop()).to.equal(0)
  })
})
