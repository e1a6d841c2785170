import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import { openClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { usageDigestRepository } from '../../../shared/clickhouse/events/usage-digests.ts'
import { usageEventListRepository } from '../../../shared/clickhouse/events/usage-event-list.ts'
import { IDS_AT_ONCE, usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { randomHex } from '../../../shared/domain/random-hex.ts'
import { askAt } from '../../support/analysts.ts'
import { ApiClient } from '../../support/api-client.ts'
import { runCommand, runProgram } from '../../support/by-hand.ts'
import { type FaultyProxy, faultyProxy } from '../../support/faulty-proxy.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { type AnalystHost, startAnalystHost } from '../../support/start-analyst-host.ts'
import { type RunningTally, startTally } from '../../support/start-tally.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'
import { NAMESPACE } from '../../support/usage-event.ts'
import { type EventBody, makeWorld, type SourceUsage } from '../../support/usage-world.ts'

/** More events than one look-up by ids may request. */
const EVENTS = 3_500
const QUANTITY = '12345678901234567.000000000000000001'
const TOTAL = '43209876154320984500.0000000000000035'

/** What a ClickHouse server takes: http_max_uri_size and http_max_field_value_size. */
const URL_BYTES_MAX = 1_024 * 1_024
const PARAMETER_BYTES_MAX = 128 * 1_024

describe('Tally on servers', function () {
  this.timeout(120_000)
  let db: TestDatabase
  let clickhouse: AnalystHost
  let proxy: FaultyProxy
  /** A server on the analysts' port, so that a process that needs the port cannot start. */
  let taken: Server
  let env: Record<string, string>
  let folder: string
  let tally: RunningTally
  const started: RunningTally[] = []
  let api: ApiClient
  let account: string

  before(async () => {
    taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    ;[db, clickhouse, folder] = await Promise.all([
      createDatabase('servers'),
      startAnalystHost({ bare: true }),
      makeTempFolder('servers'),
    ])
    proxy = await faultyProxy(clickhouse.url, () => 'pass')
    const url = new URL(proxy.url)
    url.username = 'trial'
    url.password = 'a secret of trials'
    // As a new server has none.
    const dropped = await askAt(
      clickhouse.url,
      'DROP DATABASE tally',
      {},
      { 'x-clickhouse-user': url.username, 'x-clickhouse-key': 'a secret of trials' },
    )
    expect(dropped.status, dropped.text).to.equal(200)
    env = {
      DATABASE_URL: db.serviceUrl,
      DATABASE_OWNER_URL: db.ownerUrl,
      CLICKHOUSE_URL: url.href,
      CLICKHOUSE_HTTP_PORT: String(port),
    }
  })
  after(async () => {
    for (const one of started) await one.stop()
    await proxy.close()
    await clickhouse.stop()
    await db.close()
    taken.close()
    await rm(folder, { recursive: true, force: true })
  })

  // Why a separate Tally: it runs on servers, which the test stops.
  const start = async () => {
    tally = await startTally({ dataFolder: path.join(folder, 'data'), env })
    started.push(tally)
    api = new ApiClient(tally.url, tally.key)
  }

  /** Reads all data of the account, including the newest page of its events. */
  const readAll = async () => {
    const usage = await api.get<{ events_consumed: SourceUsage[] }>(
      `/v2/accounts/${account}/usage?start_at=0&end_at=4294967295`,
    )
    const balance = await api.get<object>(`/v2/accounts/${account}/balance?currency=usd`)
    const events: EventBody[] = []
    for (let more = true; more;) {
      const after = events.length === 0 ? '' : `&starting_after=${events.at(-1)?.id ?? ''}`
      const { body } = await api.get<{ data: EventBody[]; has_more: boolean }>(`/v2/events?limit=100${after}`)
      events.push(...body.data)
      more = body.has_more
    }
    return { usage: usage.body.events_consumed, balance: balance.body, events }
  }

  it('is migrated by several processes that start at once, where nothing is yet', async () => {
    const migrations = await Promise.all(
      [1, 2, 3].map((n) =>
        runProgram('standalone/migrate.main', { ...env, DATA_DIR: path.join(folder, `data-${n}`) }),
      ),
    )
    for (const { code, output } of migrations) {
      expect(code, output).to.equal(0)
      expect(output)
        .to.contain('PostgreSQL and ClickHouse are up to date')
        .and.not.contain('@clickhouse/client') // which would log by itself, and not as we do
    }
  })

  it('says in one line what is in the way of ClickHouse', async () => {
    const outputOf = async (url: string) => {
      const { code, output } = await runProgram('standalone/migrate.main', {
        ...env,
        DATA_DIR: path.join(folder, 'data-refused'),
        CLICKHOUSE_URL: url,
      })
      expect(code, output).to.equal(1)
      return output
    }
    expect(await outputOf('http://127.0.0.1:1')).to.match(
      /^a database cannot be reached: .*ECONNREFUSED.*\n$/,
    )
    expect(await outputOf(`${clickhouse.url}/other`)).to.match(/CLICKHOUSE_URL must.* CLICKHOUSE_DATABASE/)
  })

  it('refuses another ClickHouse beside the same PostgreSQL, which would get a part of the usage', async () => {
    const { code, output } = await runProgram('standalone/migrate.main', {
      DATABASE_URL: db.serviceUrl,
      DATABASE_OWNER_URL: db.ownerUrl,
      DATA_DIR: path.join(folder, 'data-with-its-own'),
    })
    expect(code, output).to.equal(1)
    expect(output).to.match(/^the usage of this Tally is in another ClickHouse .*\n$/m)
  })

  it('starts without engines of its own, and without the analysts’ port: the server has its own', async () => {
    await start()
    expect(tally.output()).to.not.contain('Analysts')
    for (const name of ['postgres', 'clickhouse', 'analyst-password'])
      expect(existsSync(path.join(tally.dataFolder, name)), name).to.equal(false)
  })

  it('counts what is reported, exact to the last digit, and keeps it through a restart', async () => {
    const world = await makeWorld(api)
    account = world.account
    await api.create('/v2/grants', {
      account_id: account,
      currency: 'usd',
      amount: '50000000000000000000',
      effective_at: 0,
    })
    const events = Array.from({ length: EVENTS }, (_, n) => ({
      currency: 'usd',
      quantity: QUANTITY,
      occurred_at: 1_767_225_600 + n,
      idempotency_key: `it's "event" \\${n} 😀`,
      properties: { text: `it's \\ "${n}" 😀` },
    }))
    for (let from = 0; from < EVENTS; from += 1_000) await world.reportAll(events.slice(from, from + 1_000))
    await world.reportAll(events.slice(0, 10))
    await world.counted(EVENTS)
    const before = await until(async () => {
      const all = await readAll()
      return all.events.length >= EVENTS && all
    })
    expect(before.usage).to.deep.equal([
      { metric_id: null, currency: 'usd', metric_name: null, measurement_units: null, quantity: TOTAL },
    ])
    expect(before.balance).to.include({ usage_total: TOTAL, balance: '6790123845679015499.9999999999999965' })
    expect(new Set(before.events.map(({ id }) => id)).size).to.equal(EVENTS)
    expect(new Set(before.events.map(({ quantity }) => quantity))).to.deep.equal(new Set([QUANTITY]))
    expect(new Set(before.events.map(({ properties }) => properties['text']))).to.deep.equal(
      new Set(events.map(({ properties }) => properties.text)),
    )
    expect(await tally.stop(), tally.output()).to.equal(0)
    await start()
    expect(await readAll()).to.deep.equal(before)
  })

  it('is audited by the process that runs, and by one with connections of its own', async () => {
    for (const result of [
      await runCommand(tally.dataFolder, 'audit'),
      await runProgram('operator/main', env, 'audit'),
    ]) {
      expect(result.output).to.match(new RegExp(`lines in the log +${EVENTS + 10}$`, 'm'))
      expect(result.output).to.match(new RegExp(`events in ClickHouse +${EVENTS}$`, 'm'))
      expect(result.output).to.contain('everything adds up')
      expect(result.code).to.equal(0)
    }
    const keys = await runProgram('operator/main', env, 'keys', 'list')
    expect([keys.code, keys.output]).to.satisfy(
      ([code, output]: [number, string]) => code === 0 && output !== '',
    )
  })

  it('asks ClickHouse for nothing that is longer than a server takes', async () => {
    const opened = await openClickHouse({
      url: env['CLICKHOUSE_URL'] ?? '',
      database: 'tally',
      connections: 1,
      queryTimeoutS: 30,
    })
    const second = 1_767_225_600
    const digits = Array.from({ length: EVENTS }, (_, n) => (second + n).toString(16) + randomHex(12))
    const ids = digits.map((id) => `event_${id}`)
    const seconds = digits.map((_, n) => second + n * 301) // each in a slot of its own
    await usageEventRepository(opened.client).listRows(NAMESPACE, ids)
    await usageEventListRepository(opened.client).listListed(
      NAMESPACE,
      ids.map((id, n) => ({ id, acceptedSecond: second + n })),
    )
    const audited = usageDigestRepository(opened.client)
    await audited.countBySecond(NAMESPACE, seconds)
    await audited.listOfIds(NAMESPACE, seconds.slice(0, IDS_AT_ONCE), digits.slice(0, IDS_AT_ONCE))
    await audited.listOfSeconds(NAMESPACE, { seconds: seconds.slice(0, IDS_AT_ONCE), split: 0, splits: 1 })
    await opened.close()
    const paths = proxy.seen.map(({ path }) => path)
    const parameters = paths.flatMap((path) =>
      path.split(/[?&]/).map((part) => part.split('=')[1]?.length ?? 0),
    )
    expect(Math.max(...paths.map(({ length }) => length))).to.be.within(150_000, URL_BYTES_MAX)
    expect(Math.max(...parameters)).to.be.within(100_000, PARAMETER_BYTES_MAX)
  })
})
