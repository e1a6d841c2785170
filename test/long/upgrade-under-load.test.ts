import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { skipFor } from '../run/pending.ts'
import { ApiClient } from '../support/api-client.ts'
import { runProgram } from '../support/by-hand.ts'
import { evenly } from '../support/evenly.ts'
import { findKafka } from '../support/kafka.ts'
import { type Nginx, startNginx } from '../support/nginx.ts'
import { requirePrograms } from '../support/programs.ts'
import { type RunningService, type ServiceName, startService } from '../support/start-service.ts'
import {
  envOfServices,
  makeCompanies,
  migrateEngines,
  type SharedEngines,
  startSharedEngines,
} from '../support/start-services.ts'
import { until } from '../support/until.ts'

/** The folder of the version before, which test/upgrade/run.sh makes. */
const BASE = process.env['TEST_UPGRADE_BASE'] ?? ''
const ACCOUNTS = 50
const EVENTS_AT_ONCE = 100
const REPORT_EVERY_MS = 50 // 2,000 events a second
const BALANCE_EVERY_MS = 10
const RETRY_MS = 200
/** Between two replacements. nginx passes over a process that was away for more than a second. */
const SERVES_MS = 2_200
const DELAY_MS = '3000'

const ORDER: readonly ServiceName[] = ['rollup', 'loader', 'refill', 'api', 'gateway']

/** Answers by kind, for example `balance 200`. */
type Answers = Map<string, number>

describe('an upgrade from the version before, and back again, under load', function () {
  this.timeout(300_000)
  let engines: SharedEngines | undefined
  let nginx: Nginx | undefined
  let services: RunningService[] = []
  let key: string
  const accounts: string[] = []
  let metric: string
  const answers: Answers = new Map()
  let acknowledged = 0
  let isOn = true
  let loading: Promise<void>[] = []

  before(async function () {
    if (BASE === '') skipFor(this, 'TEST_UPGRADE_BASE is not set: npm run test:upgrade')
    requirePrograms(this, 'REQUIRE_NGINX', [['nginx', '-v']])
    const brokers = await findKafka(this)
    // Why a separate Tally: its services are of two versions.
    engines = await startSharedEngines('upgrade', brokers)
    await migrateEngines(engines, BASE)
    ;({ key } = await makeCompanies(engines.db))
    const env = { ...envOfServices(engines), SHUTDOWN_DELAY_MS: DELAY_MS, LOG_LEVEL: 'error' }
    services = await Promise.all(
      (['gateway', 'gateway', 'api', 'api', 'loader', 'refill', 'rollup'] as const).map((name) =>
        startService(name, env, BASE),
      ),
    )
    const urlsOf = (name: ServiceName) => services.filter((one) => one.name === name).map(({ url }) => url)
    nginx = await startNginx(urlsOf('gateway'), urlsOf('api'))
    const api = new ApiClient(nginx.url, key)
    metric = (await api.create<{ id: string }>('/v2/metrics', { name: 'tokens' })).id
    for (let n = 0; n < ACCOUNTS; n++)
      accounts.push((await api.create<{ id: string }>('/v2/accounts', { name: `a${n}` })).id)
    loading = [report(), ask()]
  })
  after(async () => {
    isOn = false
    await Promise.all(loading)
    await nginx?.stop()
    await Promise.all(services.map((service) => service.stop()))
    await engines?.close()
  })

  /** Sends a request, and notes its kind: the status, whether 503 says when to try again, or what went wrong. */
  const send = async (what: string, path: string, body?: string): Promise<number> => {
    const headers = {
      'x-api-key': key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const method = body === undefined ? 'GET' : 'POST'
    let kind = what
    let status = 0
    try {
      const answer = await fetch(`${nginx?.url ?? ''}${path}`, { method, headers, body: body ?? null })
      await answer.text()
      ;({ status } = answer)
      kind += ` ${status}${answer.headers.has('retry-after') ? ' with Retry-After' : ''}`
    } catch (err) {
      kind += ` ${String(err)}: ${String((err as Error).cause)}`
    }
    answers.set(kind, (answers.get(kind) ?? 0) + 1)
    return status
  }

  /** Reports each batch until it is acknowledged, with the keys that it had the first time. */
  const report = () =>
    evenly(
      REPORT_EVERY_MS,
      () => isOn,
      async (n) => {
        const events = Array.from({ length: EVENTS_AT_ONCE }, (_, i) => ({
          account_id: accounts[(n + i) % ACCOUNTS],
          metric_id: metric,
          quantity: '1',
          occurred_at: Math.floor(Date.now() / 1000),
          idempotency_key: `${n}-${i}`,
        }))
        const body = JSON.stringify({ events })
        while ((await send('report', '/v2/events/batch', body)) !== 202) await sleep(RETRY_MS)
        acknowledged += EVENTS_AT_ONCE
      },
    )

  const ask = () =>
    evenly(
      BALANCE_EVERY_MS,
      () => isOn,
      async (n) => {
        await send('balance', `/v2/accounts/${accounts[n % ACCOUNTS] ?? ''}/balance?metric_id=${metric}`)
      },
    )

  const replaceAll = async (order: readonly ServiceName[], root: string) => {
    for (const name of order)
      for (const service of services.filter((one) => one.name === name)) {
        expect(await service.stop(), `${name}: ${service.output()}`).to.equal(0)
        await service.restart({ PORT: new URL(service.url || 'http://a:0').port }, root)
        await sleep(SERVES_MS)
      }
  }

  const expectOnlyMeant = () => {
    expect(nginx?.output() ?? '').to.not.match(/\[(alert|crit|emerg)\]/)
    const meant = new Set(['report 202', 'balance 200'])
    const others = [...answers].filter(([kind]) => !meant.has(kind) && !kind.endsWith('503 with Retry-After'))
    expect(Object.fromEntries(others), nginx?.output()).to.deep.equal({})
    expect(answers.get('report 202')).to.be.above(100)
    expect(answers.get('balance 200')).to.be.above(500)
  }

  it('has no answer but those that were meant on the way up', async function () {
    await sleep(SERVES_MS)
    await migrateEngines(engines as SharedEngines)
    await replaceAll(ORDER, PROJECT_ROOT)
    if (this.test !== undefined) this.test.title += `: ${JSON.stringify(Object.fromEntries(answers))}`
    expectOnlyMeant()
  })

  it('nor on the way back', async function () {
    answers.clear()
    await replaceAll([...ORDER].reverse(), BASE)
    if (this.test !== undefined) this.test.title += `: ${JSON.stringify(Object.fromEntries(answers))}`
    expectOnlyMeant()
  })

  it('counts each acknowledged event once, and the audit finds nothing', async function () {
    isOn = false
    await Promise.all(loading)
    const api = new ApiClient(nginx?.url ?? '', key)
    const count = async () => {
      let sum = 0
      for (const account of accounts) {
        const { body } = await api.get<{ events_consumed: { quantity: string }[] }>(
          `/v2/accounts/${account}/usage?start_at=0&end_at=4294967295`,
        )
        for (const { quantity } of body.events_consumed) sum += Number(quantity)
      }
      return sum
    }
    await until(async () => (await count()) >= acknowledged, 60_000)
    expect(await count()).to.equal(acknowledged)
    if (this.test !== undefined) this.test.title += `: ${acknowledged} events`
    const audit = await runProgram('operator/main', (engines as SharedEngines).env, 'audit')
    expect(audit.code, audit.output).to.equal(0)
  })
})
