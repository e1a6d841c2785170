import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { expect } from 'chai'
import pg from 'pg'
import { VERSION } from '../../shared/config/version.ts'
import { ApiClient } from '../support/api-client.ts'
import { runProgram } from '../support/by-hand.ts'
import { type ServiceName, startService } from '../support/start-service.ts'
import {
  migrateEngines,
  type RunningServices,
  type SharedEngines,
  startServices,
  startSharedEngines,
} from '../support/start-services.ts'
import { until } from '../support/until.ts'
import { type EventBody, makeWorld } from '../support/usage-world.ts'

const NAMES: readonly ServiceName[] = ['gateway', 'loader', 'api', 'refill', 'rollup']

/** The address of a server that does not exist. */
const NOBODY = '127.0.0.1:1'

describe('services as processes of their own', function () {
  this.timeout(120_000)
  let engines: SharedEngines

  before(async () => {
    // Why separate services: the test checks how they start, continue without each other, and end.
    engines = await startSharedEngines('processes')
  })
  after(() => engines.close())

  const run = (name: ServiceName, env: Record<string, string>) =>
    runProgram(`${name}/main`, { PORT: '0', ADMIN_PORT: '0', LOG_LEVEL: 'fatal', ...env })

  /** The message of a service that does not start. */
  const refusalOf = async (name: ServiceName, env: Record<string, string>): Promise<string> => {
    const { code, output } = await run(name, env)
    expect(code, output).to.equal(1)
    return output
  }

  it('name all settings that are missing in one message, and npm start with it', async () => {
    expect(await refusalOf('gateway', { PORT: 'x' })).to.match(
      /^the settings are not valid:\n {2}- DATABASE_URL and CLICKHOUSE_URL are missing: the gateway is .*npm start runs everything.*\n {2}- PORT must.*\n$/,
    )
    for (const name of ['loader', 'api', 'refill', 'rollup'] as const)
      expect(await refusalOf(name, {})).to.match(
        /^the settings are not valid:\n {2}- DATABASE_URL and CLICKHOUSE_URL are missing: .*npm start.*\n$/,
      )
  })

  it('say in one line that the databases are not migrated', async () => {
    expect(await refusalOf('api', engines.env)).to.match(
      /^ClickHouse \(CLICKHOUSE_URL\) is not migrated, 0001_\w+ is missing: run npm run migrate\n$/,
    )
    const bare = new URL(engines.db.serviceUrl)
    bare.pathname = '/postgres'
    const unmigrated = { ...engines.env, DATABASE_URL: bare.href }
    const said = /^PostgreSQL \(DATABASE_URL\) is not migrated, 0001_\w+ is missing: run npm run migrate\n$/
    for (const name of NAMES) expect(await refusalOf(name, unmigrated)).to.match(said)
    for (const words of [['audit'], ['rebuild'], ['companies', 'list'], ['dead-letters', 'list']]) {
      const { code, output } = await runProgram('operator/main', unmigrated, ...words)
      expect(code, output).to.equal(1)
      expect(output).to.match(said)
    }
    const rebuild = await runProgram('operator/main', engines.env, 'rebuild')
    expect(rebuild.output).to.match(
      /^ClickHouse \(CLICKHOUSE_URL\) is not migrated, 0001_\w+ is missing: run npm run migrate\n$/,
    )
  })

  it('say in one line which server cannot be reached, and by which setting', async () => {
    for (const name of NAMES)
      expect(await refusalOf(name, { ...engines.env, DATABASE_URL: `postgres://a:b@${NOBODY}/x` })).to.match(
        /^a database cannot be reached: PostgreSQL \(DATABASE_URL\): connect ECONNREFUSED 127.0.0.1:1\n$/,
      )
    for (const name of ['loader', 'api', 'refill', 'rollup'] as const)
      expect(await refusalOf(name, { ...engines.env, CLICKHOUSE_URL: `http://${NOBODY}` })).to.match(
        /^a database cannot be reached: ClickHouse \(CLICKHOUSE_URL\): connect ECONNREFUSED 127.0.0.1:1\n$/,
      )
  })

  it('are not needed to revoke a key: neither ClickHouse nor Kafka has to be there for companies and keys', async () => {
    await migrateEngines(engines)
    const away = { CLICKHOUSE_URL: 'http://127.0.0.1:1', KAFKA_BROKERS: '127.0.0.1:1' }
    const operate = (...words: string[]) => runProgram('operator/main', { ...engines.env, ...away }, ...words)
    const made = await operate('companies', 'create', '--name', 'while all is away')
    expect(made.code, made.output).to.equal(0)
    const issued = await operate('keys', 'issue', '--company', 'while all is away')
    expect(issued.code, issued.output).to.equal(0)
    const [id = ''] = /[0-9a-f-]{36}/.exec(issued.output) ?? []
    const revoked = await operate('keys', 'revoke', id)
    expect([revoked.code, revoked.output]).to.satisfy(([code]: [number]) => code === 0, revoked.output)
    const audit = await operate('audit')
    expect([audit.code, audit.output]).to.satisfy(
      ([code, output]: [number, string]) => code === 1 && /cannot be reached.*CLICKHOUSE_URL/.test(output),
      audit.output,
    )
  })

  it('explain themselves, and take no options', async () => {
    for (const name of NAMES) {
      const help = await runProgram(`${name}/main`, {}, '--help')
      expect(help.code).to.equal(0)
      expect(help.output).to.contain(`usage: npm run ${name}\n`)
      expect((await runProgram(`${name}/main`, {}, '--port', '1')).code).to.equal(2)
    }
  })

  it('say in one line that a port is taken, or that the databases are newer than they are', async () => {
    await migrateEngines(engines)
    const taken: Server = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    for (const [name, setting] of [
      ['gateway', 'PORT'],
      ['loader', 'ADMIN_PORT'],
      ['api', 'PORT'],
      ['refill', 'ADMIN_PORT'],
      ['rollup', 'ADMIN_PORT'],
    ] as const)
      expect(await refusalOf(name, { ...engines.env, [setting]: String(port) })).to.match(
        new RegExp(
          `^the .* cannot listen on 127.0.0.1:${port}, the port is taken: set ${setting} to another\n$`,
        ),
      )
    taken.close()
    const owner = new pg.Client({ connectionString: engines.db.ownerUrl })
    await owner.connect()
    await owner.query(
      "INSERT INTO tally.schema_migrations (name, checksum, oldest) VALUES ('9999_later', '', '99.0.0')",
    )
    for (const name of NAMES)
      expect(await refusalOf(name, engines.env)).to.equal(
        `the database needs Tally 99.0.0 or later, and this is ${VERSION}\n`,
      )
    await owner.query("DELETE FROM tally.schema_migrations WHERE name = '9999_later'")
    await owner.end()
  })

  describe('together', () => {
    let services: RunningServices
    let api: ApiClient

    before(async () => {
      services = await startServices(engines, { LOG_LEVEL: 'info' })
      api = new ApiClient(services.url, services.key)
    })
    after(() => services.stop())

    const probe = async (name: ServiceName, path: string) => {
      const response = await fetch(`http://${new URL(services[name].adminUrl).host}${path}`)
      return `${response.status} ${await response.text()}`
    }

    it('print one line when they are ready, and answer probes', async () => {
      for (const name of NAMES) {
        expect(await probe(name, '/livez'), name).to.equal('200 ok')
        expect(await probe(name, '/readyz'), name).to.equal('200 ok')
      }
    })

    it('report, load and query: what one takes in, another answers', async () => {
      const world = await makeWorld(api)
      const { body } = await world.report({ metric_id: world.tokens, quantity: '2.5' })
      await world.reportAll([{ metric_id: world.tokens, quantity: '0.000000000000000001' }])
      await world.counted(2)
      expect(await world.usage()).to.deep.equal({ [world.tokens]: '2.500000000000000001' })
      const listed = await until(async () => {
        const page = await api.get<{ data: EventBody[] }>('/v2/events')
        return page.body.data.length === 2 && page.body.data
      }, 60_000)
      expect(listed.map(({ id }) => id)).to.include(body.id)
    })

    it('leave each other’s routes alone', async () => {
      const gateway = new ApiClient(services.gateway.url, services.key)
      const answers = [
        await fetch(`${gateway.url}/v2/accounts`, { headers: { 'x-api-key': services.key } }),
        await fetch(`${services.api.url}/v2/events`, {
          method: 'POST',
          headers: { 'x-api-key': services.key },
        }),
      ]
      expect(answers.map(({ status }) => status)).to.deep.equal([404, 404])
    })

    it('go on one without the other', async () => {
      const world = await makeWorld(api)
      await services.gateway.kill9()
      expect((await api.get('/v2/accounts')).status).to.equal(200)
      await services.gateway.restart()
      await services.api.kill9()
      await services.loader.kill9()
      expect((await world.report({ metric_id: world.tokens, quantity: '1' })).status).to.equal(202)
      await services.loader.restart()
      await services.api.restart()
      await world.counted(1)
    })

    it('end with exit code 0 within ten seconds, with requests under way', async () => {
      const world = await makeWorld(api)
      let running = true
      const statuses = new Set<number>()
      const isRunning = () => running
      const busy = async (ask: () => Promise<Response>) => {
        while (isRunning())
          await ask().then(
            (response) => statuses.add(response.status),
            () => (running = false),
          )
      }
      const headers = { 'x-api-key': services.key, 'content-type': 'application/json' }
      const events = Array.from({ length: 500 }, () => ({
        account_id: world.account,
        metric_id: world.tokens,
        quantity: '1',
      }))
      const body = JSON.stringify({ events })
      const { gateway, api: own } = services
      const asking = [
        ...[1, 2, 3, 4].map(() =>
          busy(() => fetch(`${gateway.url}/v2/events/batch`, { method: 'POST', headers, body })),
        ),
        busy(() =>
          fetch(`${own.url}/v2/accounts/${world.account}/balance?metric_id=${world.tokens}`, { headers }),
        ),
      ]
      await until(() => Promise.resolve(statuses.has(202) && statuses.has(200)))
      const startedAt = performance.now()
      const codes = await services.stop()
      expect(performance.now() - startedAt).to.be.below(10_000)
      await Promise.all(asking)
      expect(codes).to.deep.equal({ gateway: 0, loader: 0, api: 0, refill: 0, rollup: 0 })
      expect([...statuses].sort()).to.deep.equal([200, 202])
    })
  })

  it('start alone too, each at its own ports', async () => {
    const { DATABASE_URL = '', CLICKHOUSE_URL = '' } = engines.env
    const one = await startService('api', { DATABASE_URL, CLICKHOUSE_URL })
    expect((await fetch(`${one.url}/v2/health`)).status).to.equal(200)
    expect(await one.stop()).to.equal(0)
  })
})
