import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { pipeline } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { repeat } from '../../shared/lifecycle/repeat.ts'
import { ApiClient } from '../support/api-client.ts'
import { evenly } from '../support/evenly.ts'
import { type Nginx, startNginx } from '../support/nginx.ts'
import { requirePrograms } from '../support/programs.ts'
import { type RunningService, startService } from '../support/start-service.ts'
import {
  envOfServices,
  makeCompanies,
  migrateEngines,
  type SharedEngines,
  startSharedEngines,
} from '../support/start-services.ts'

const EVERY_MS = 5
const LOOK_EVERY_MS = 200
/** Longer than the balancer needs to notice, and than nginx keeps idle connections. */
const DELAY_MS = 3_000

/**
 * As a Service of Kubernetes has it: a new connection goes to the next service that is ready, and those that are open
 * stay where they are.
 */
async function startBalancer(services: readonly RunningService[]) {
  let ready: RunningService[] = []
  let next = 0
  const refused: string[] = []
  const look = async () => {
    const isReady = await Promise.all(
      services.map(({ adminUrl }) =>
        fetch(`${adminUrl}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      ),
    )
    ready = services.filter((_, n) => isReady[n])
  }
  await look()
  const looking = repeat('probes', LOOK_EVERY_MS, look, () => undefined)
  const server = createServer((client) => {
    const { url = '' } = ready[next++ % ready.length] ?? {}
    const service = connect(Number(new URL(url).port), '127.0.0.1')
    service.on('error', (err: NodeJS.ErrnoException) => {
      if (err.code === 'ECONNREFUSED') refused.push(url)
    })
    pipeline(client, service, client, () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused,
    async close() {
      server.close()
      await looking.close()
    },
  }
}

describe('gateways and APIs that are ended and started in turn, behind nginx', function () {
  this.timeout(120_000)
  let engines: SharedEngines | undefined
  let nginx: Nginx | undefined
  let balancers: Awaited<ReturnType<typeof startBalancer>>[] = []
  let services: RunningService[] = []
  let key: string

  before(async function () {
    requirePrograms(this, 'REQUIRE_NGINX', [['nginx', '-v']])
    // Why a separate Tally: its services are ended, two of each.
    engines = await startSharedEngines('edge')
    await migrateEngines(engines)
    ;({ key } = await makeCompanies(engines.db))
    const env = { ...envOfServices(engines), SHUTDOWN_DELAY_MS: String(DELAY_MS), LOG_LEVEL: 'error' }
    services = await Promise.all(
      (['gateway', 'api', 'gateway', 'api'] as const).map((name) => startService(name, env)),
    )
    balancers = await Promise.all(
      ['gateway', 'api'].map((name) => startBalancer(services.filter((service) => service.name === name))),
    )
    const [gateway = '', api = ''] = balancers.map(({ url }) => url)
    nginx = await startNginx(gateway, api)
  })
  after(async () => {
    await nginx?.stop()
    await Promise.all(balancers.map((balancer) => balancer.close()))
    await Promise.all(services.map((service) => service.stop()))
    await engines?.close()
  })

  /** Sends a request over a connection of its own. @returns the status, or what went wrong */
  const statusOf = async (method: string, path: string, body?: string): Promise<string> => {
    const { hostname, port } = new URL(nginx?.url ?? '')
    const headers = {
      'x-api-key': key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    try {
      const sent = request({ hostname, port, method, path, headers, agent: false }).end(body)
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      const said = await text(answer)
      return `${method} ${answer.statusCode ?? 0}${answer.statusCode === 400 ? said : ''}`
    } catch (err) {
      return `${method} ${String(err)}`
    }
  }

  it('cost nobody an answer: 200 requests a second get what they ask for, and no connection is refused', async () => {
    const account = await new ApiClient(nginx?.url ?? '', key).create<{ id: string }>('/v2/accounts', {
      name: 'somebody',
    })
    const body = JSON.stringify({ account_id: account.id, currency: 'usd', quantity: '1' })
    const statuses = new Map<string, number>()
    let isOn = true
    const load = async (n: number) => {
      const status = await (n % 2 === 0
        ? statusOf('POST', '/v2/events', body)
        : statusOf('GET', '/v2/accounts'))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    const loading = evenly(EVERY_MS, () => isOn, load)
    for (const service of services.slice(0, 2)) {
      expect(await service.stop()).to.equal(0)
      await service.restart()
      await sleep(2 * LOOK_EVERY_MS)
    }
    isOn = false
    await loading
    expect(balancers.flatMap(({ refused }) => refused)).to.deep.equal([])
    expect(nginx?.output() ?? '').to.not.match(/upstream|\[(error|crit)\]/)
    expect([...statuses.keys()].sort()).to.deep.equal(['GET 200', 'POST 202'])
    expect(statuses.get('POST 202')).to.be.above(500)
  })
})
