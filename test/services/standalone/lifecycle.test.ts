import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { ApiClient } from '../../support/api-client.ts'
import { runCommand } from '../../support/by-hand.ts'
import { startTally } from '../../support/start-tally.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'
import { makeWorld, type SourceUsage } from '../../support/usage-world.ts'

describe('Tally as a process', function () {
  this.timeout(120_000)
  let folder: string

  beforeEach(async () => {
    folder = path.join(await makeTempFolder('lifecycle'), 'data')
  })
  afterEach(() => rm(path.dirname(folder), { recursive: true, force: true }))

  // Why a separate Tally: it is started, stopped and killed.
  const start = (env: Record<string, string> = {}) => startTally({ dataFolder: folder, env })

  const refusalOf = async (env: Record<string, string>): Promise<string> => {
    let refusal: unknown
    await start(env)
      .then((tally) => tally.stop())
      .catch((err: unknown) => (refusal = err))
    return String(refusal)
  }

  it('is started by npm start, and ended by Ctrl-C within ten seconds with exit code 0', async () => {
    const npm = spawn('npm', ['start'], {
      cwd: PROJECT_ROOT,
      detached: true, // a separate process group, as from a terminal
      env: { ...process.env, DATA_DIR: folder, PORT: '0', ADMIN_PORT: '0', CLICKHOUSE_HTTP_PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [npm.stdout, npm.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await until(() => Promise.resolve(output.includes('Tally serves on')), 60_000)
    const key = (await readFile(path.join(folder, 'api-key'), 'utf8')).trim()
    expect(output).to.contain('api-key').and.not.contain(key)
    const stoppedAt = performance.now()
    process.kill(-(npm.pid ?? 0), 'SIGINT') // what Ctrl-C does
    const [code] = (await once(npm, 'exit')) as [number | null]
    expect(code, output).to.equal(0)
    expect(performance.now() - stoppedAt).to.be.lessThan(10_000)
    expect(existsSync(path.join(folder, 'postgres/postmaster.pid'))).to.equal(false)
  })

  it('makes keys that only we can read, and keeps everything through a stop and a kill', async () => {
    let tally = await start({ SHUTDOWN_DELAY_MS: '2000' })
    for (const name of ['api-key', 'test-api-key', 'analyst-password', 'postgres-passwords.json'])
      expect((await stat(path.join(folder, name))).mode & 0o777, name).to.equal(0o600)
    const { key } = tally
    const world = await makeWorld(new ApiClient(tally.url, key))
    const keyed = {
      metric_id: world.tokens,
      occurred_at: Math.floor(Date.now() / 1_000),
      idempotency_key: 'once',
    }
    await world.report({ ...keyed, quantity: '1' })
    const [stopping, askedAt] = [tally.stop(), performance.now()]
    await until(async () => (await fetch(`${tally.adminUrl}/readyz`)).status === 503)
    const late = await fetch(`${tally.url}/v2/accounts`, { headers: { 'x-api-key': key } })
    expect([late.status, late.headers.get('connection')]).to.deep.equal([200, 'close'])
    expect(await stopping).to.equal(0)
    expect(performance.now() - askedAt).to.be.above(2_000)
    tally = await start()
    expect(tally.key).to.equal(key)
    const again = new ApiClient(tally.url, key)
    await again.create('/v2/events', { account_id: world.account, metric_id: world.tokens, quantity: '2' })
    await tally.kill9()
    tally = await start()
    const last = new ApiClient(tally.url, key)
    expect(await sumOf(last, world.account, 2)).to.equal('3')
    const balance = async () =>
      (await last.get<SchemaOf<'Balance'>>(`/v2/accounts/${world.account}/balance?metric_id=${world.tokens}`))
        .body.usage_total
    expect(await balance()).to.equal('3')
    for (const event of [
      { ...keyed, quantity: '1' },
      { metric_id: world.tokens, quantity: '4' },
    ])
      await last.create('/v2/events', { account_id: world.account, ...event })
    expect(await sumOf(last, world.account, 3)).to.equal('7')
    expect(await balance(), 'beside a repeat of what was stored before the start').to.equal('7')
    await tally.stop()
  })

  it('loses no acknowledged event and counts none twice when it is killed again and again under load', async () => {
    const seed = Math.floor(Math.random() * 1e9)
    let random = seed
    const next = (max: number) => (random = (random * 48_271) % 2_147_483_647) % max
    let tally = await start()
    const world = await makeWorld(new ApiClient(tally.url, tally.key))
    const attempted = new Set<string>()
    const acknowledged = new Set<string>()
    const now = Math.floor(Date.now() / 1_000)
    let running = true
    const isRunning = () => running
    let number = 0
    const reporter = async () => {
      while (isRunning()) {
        const keys = Array.from({ length: 1 + next(20) }, () => `k${number++}`)
        const events = keys.map((key) => ({
          account_id: world.account,
          metric_id: world.tokens,
          quantity: '1',
          occurred_at: now,
          idempotency_key: key,
        }))
        for (const key of keys) attempted.add(key)
        // Repeats the request until it is answered, as a client should.
        while (isRunning()) {
          if ((await post(tally.url, tally.key, { events })) === 202) {
            for (const key of keys) acknowledged.add(key)
            break
          }
          await sleep(20)
        }
      }
    }
    const reporters = [1, 2, 3, 4].map(reporter)
    for (let round = 0; round < 3; round++) {
      await sleep(300 + next(700))
      await tally.kill9()
      tally = await start()
    }
    await sleep(300)
    running = false
    await Promise.all(reporters)
    const api = new ApiClient(tally.url, tally.key)
    expect(acknowledged.size, `seed ${seed}`).to.be.greaterThan(50)
    // Events whose answer was lost by a kill may also be counted, later than acknowledged events.
    const { audit, counted } = await until(async () => {
      const counted = Number(await sumOf(api, world.account, acknowledged.size))
      const audit = await runCommand(folder, 'audit')
      return new RegExp(`events in ClickHouse +${counted}$`, 'm').test(audit.output) && { audit, counted }
    })
    expect(counted, `seed ${seed}`).to.be.within(acknowledged.size, attempted.size)
    expect(audit.code, `seed ${seed}: ${audit.output}`).to.equal(0)
    await tally.stop()
  })

  it('says in one line what is in the way', async () => {
    const tally = await start()
    expect(await refusalOf({})).to.match(
      /the data folder \S+ is in use by process \d+: stop it, or set DATA_DIR/,
    )
    await tally.stop()
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    expect(await refusalOf({ PORT: String(port), ADMIN_PORT: String(port) })).to.match(
      /the port is taken: set PORT to another\n.*the port is taken: set ADMIN_PORT to another/,
    )
    taken.close()
    expect(await refusalOf({ HOST: '1.2.3.4' })).to.match(
      /listen on 1\.2\.3\.4:0, which is no address of this machine: set HOST/,
    )
    expect(await refusalOf({ PORT: 'x', LOG_LEVEL: 'loud', DATABASE_URL: 'postgres://x' })).to.match(
      /are not valid:\n.*PORT must.*\n.*LOG_LEVEL must.*\n.*DATABASE_OWNER_URL is needed/,
    )
    const server = 'postgres://a:b@127.0.0.1:1/x'
    expect(await refusalOf({ DATABASE_URL: server, DATABASE_OWNER_URL: server })).to.match(
      /database cannot be reached: PostgreSQL \(DATABASE_URL\): connect ECONNREFUSED 127.0.0.1:1\n$/,
    )
    expect(await refusalOf({ CLICKHOUSE_URL: 'http://127.0.0.1:1' })).to.match(
      /did not start: a database cannot be reached: ClickHouse \(CLICKHOUSE_URL\): connect ECONNREFUSED 127.0.0.1:1\n$/,
    )
    const beneathFile = path.join(folder, 'api-key/data')
    expect(await refusalOf({ DATA_DIR: beneathFile })).to.match(
      /data folder \S+ cannot be made: .*set DATA_DIR to another/,
    )
  })

  it('makes nothing while a port is taken, and says where the keys are at every start', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    await refusalOf({ PORT: String(port) })
    taken.close()
    expect(await readdir(folder)).to.deep.equal([])
    for (const round of [1, 2]) {
      const tally = await start()
      await until(() => Promise.resolve(tally.output().includes('Try next')))
      const key = path.relative(process.cwd(), path.join(folder, 'api-key'))
      expect(tally.output(), `start ${round}`)
        .to.contain(`The key of the live company "default" is in ${key}.`)
        .and.contain('The key of the test company "sandbox" is in')
      expect((await readFile(path.join(folder, 'api-address'), 'utf8')).trim()).to.equal(
        new URL(tally.url).host,
      )
      await tally.stop()
    }
  })

  it('explains commands that take no options, and refuses options with exit code 2', async () => {
    for (const name of ['main', 'migrate.main', 'config.main']) {
      const help = await runStandalone(name, ['--help'])
      expect(help, name).to.include({ code: 0, err: '' })
      expect(help.out, name).to.match(
        /usage: npm (start|run migrate \[-- --contract\]|run config)\n[^]*environment variables/,
      )
      const { code, err } = await runStandalone(name, ['--port', '9000'])
      expect(code, name).to.equal(2)
      expect(err, name).to.match(/^npm .* takes no options, such as --port\. .*PORT=9000 npm start.*\n$/)
    }
    const { code, err } = await runStandalone('config.main', [], { PORT: 'x' })
    expect(code).to.equal(1)
    expect(err).to.match(/^the settings are not valid:\n {2}- PORT must/)
  })
})

async function post(url: string, key: string, body: object): Promise<number> {
  try {
    const response = await fetch(`${url}/v2/events/batch`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    await response.arrayBuffer()
    return response.status
  } catch {
    return 0 // the connection was cut
  }
}

/** Runs one of the programs of services/standalone to its end. */
async function runStandalone(
  name: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(
    process.execPath,
    [path.join(PROJECT_ROOT, `dist/services/standalone/${name}.js`), ...args],
    {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...said }
}

/** The account's usage, once at least this many events are counted. */
async function sumOf(api: ApiClient, account: string, events: number): Promise<string> {
  const ask = async (aggregation: string) => {
    const { body } = await api.get<{ events_consumed: SourceUsage[] }>(
      `/v2/accounts/${account}/usage?start_at=0&end_at=4294967295&aggregation=${aggregation}`,
    )
    return body.events_consumed[0]?.quantity ?? '0'
  }
  await until(async () => Number(await ask('count')) >= events)
  await sleep(500) // attempted events without an answer may still be on their way
  return ask('sum')
}
