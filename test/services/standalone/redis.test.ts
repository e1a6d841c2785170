import { copyFile, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { newApiKey } from '../../../shared/domain/api-key.ts'
import { ApiClient } from '../../support/api-client.ts'
import { runCommand, runProgram } from '../../support/by-hand.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { closeRedis, type OwnRedis, startRedis } from '../../support/redis.ts'
import { type AnalystHost, startAnalystHost } from '../../support/start-analyst-host.ts'
import { type RunningTally, startTally } from '../../support/start-tally.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'
import { makeWorld } from '../../support/usage-world.ts'

const WRONG_KEYS_PER_MIN = 60
const PROCESSES = 2

describe('two Tallies with one Redis', function () {
  this.timeout(120_000)
  let redis: OwnRedis
  const databases: TestDatabase[] = []
  let clickhouse: AnalystHost | undefined
  const started: RunningTally[] = []
  let one: RunningTally
  let other: RunningTally
  let env: Record<string, string>
  let outages = 0

  before(async function () {
    redis = await startRedis(this)
    const db = await createDatabase('redis')
    databases.push(db)
    clickhouse = await startAnalystHost({ bare: true })
    env = {
      ...redis.env,
      DATABASE_URL: db.serviceUrl,
      DATABASE_OWNER_URL: db.ownerUrl,
      CLICKHOUSE_URL: clickhouse.url.replace('//', '//trial:a%20secret%20of%20trials@'),
      RATE_LIMIT_WRONG_KEYS_PER_MIN: String(WRONG_KEYS_PER_MIN),
      LOG_LEVEL: 'info',
    }
    // Why separate Tallies: the test needs two, with a Redis that fails.
    one = await startTally({ env })
    started.push(one)
    const dataFolder = path.join(await makeTempFolder('tally'), 'data')
    await mkdir(dataFolder)
    for (const file of ['api-key', 'test-api-key'])
      await copyFile(path.join(one.dataFolder, file), path.join(dataFolder, file))
    other = await startTally({ dataFolder, env })
    started.push(other)
  })
  after(async () => {
    await Promise.all(started.map((tally) => tally.discard()))
    await clickhouse?.stop()
    await Promise.all(databases.map((database) => database.close()))
    await closeRedis()
  })

  const issue = async () => {
    const { output } = await runCommand(one.dataFolder, 'keys', 'issue')
    return { key: /tally_live_\w+/.exec(output)?.[0] ?? '', id: /[0-9a-f-]{36}/.exec(output)?.[0] ?? '' }
  }
  const statusOf = async ({ url }: RunningTally, key: string) =>
    (await new ApiClient(url, key).get('/v2/metrics')).status
  /** The time until both refuse a key. */
  const refusedAfter = async (key: string): Promise<number> => {
    const startedAt = performance.now()
    for (const tally of [one, other]) await until(async () => (await statusOf(tally, key)) === 401)
    return performance.now() - startedAt
  }
  const use = async (key: string) => {
    for (const tally of [one, other]) expect(await statusOf(tally, key)).to.equal(200)
  }

  it('forget a revoked key at once, wherever it was revoked', async () => {
    const ways = [
      (id: string) => runCommand(one.dataFolder, 'keys', 'revoke', id),
      (id: string) =>
        runProgram('operator/main', { ...env, CLICKHOUSE_URL: 'http://127.0.0.1:1' }, 'keys', 'revoke', id),
    ]
    for (const revoke of ways) {
      const { key, id } = await issue()
      await use(key)
      const { code, output } = await revoke(id)
      expect(code, output).to.equal(0)
      expect(await refusedAfter(key)).to.be.lessThan(1_000)
    }
  })

  it('keep limits together', async () => {
    let within = 0
    for (let n = 0; n < WRONG_KEYS_PER_MIN; n++)
      for (const { url } of [one, other]) {
        const { status, headers } = await new ApiClient(url, newApiKey('live')).get('/v2/metrics')
        expect(status).to.equal(401)
        if (!headers.has('retry-after')) within++
      }
    expect(within).to.be.within(WRONG_KEYS_PER_MIN * 0.8, WRONG_KEYS_PER_MIN * (1 + PROCESSES * 0.05))
  })

  it('leave nothing in Redis or in their logs that opens anything', async () => {
    const { key } = await issue()
    await use(key)
    const names = await redis.client.keys('*')
    expect(names.join(), 'counters of wrong keys').to.contain('limit:')
    const held = await Promise.all(names.map((name) => redis.client.get(name)))
    const secrets = [key, one.key, key.slice(11, 43), one.testKey]
    for (const text of [...names, ...held, one.output(), other.output()])
      for (const secret of secrets) expect(text).not.to.contain(secret)
    for (const name of names) expect(await redis.client.ttl(name), name).to.be.within(0, 3_600)
    await redis.client.flushall()
  })

  for (const fault of ['paused', 'killed'] as const)
    it(`go on while Redis is ${fault}, ready and as fast, and keep their word on revoked keys`, async () => {
      const api = new ApiClient(one.url, one.key)
      const world = await makeWorld(api)
      const report = () => world.report({ metric_id: world.tokens, quantity: '1' })
      await timesOf(report, 500)
      const before = await timesOf(report, 1_500)
      const { key, id } = await issue()
      await use(key)
      if (fault === 'paused') await redis.pause()
      else await redis.kill()
      const during = await timesOf(report, 2_500)
      const limit = Math.max(2 * quantile(before, 0.99), redis.config.timeoutMs + 20)
      expect(quantile(during, 0.99)).to.be.lessThan(limit)
      expect(Math.max(...during)).to.be.lessThan(2 * Math.max(...before) + 3 * redis.config.timeoutMs)
      expect((await fetch(`${other.adminUrl}/readyz`)).status).to.equal(200)
      await use(key)
      expect((await runCommand(one.dataFolder, 'keys', 'revoke', id)).code).to.equal(0)
      expect(await refusedAfter(key)).to.be.lessThan(5_000)
      if (fault === 'paused') redis.goOn()
      else await redis.start()
      const linesOf = (text: string) => one.output().split(text).length - 1
      outages++
      await until(async () => {
        await use((await issue()).key)
        return linesOf('Redis is back') === outages
      })
      expect(linesOf('Redis is away')).to.equal(outages)
      const next = await issue()
      await use(next.key)
      await runCommand(one.dataFolder, 'keys', 'revoke', next.id)
      expect(await refusedAfter(next.key)).to.be.lessThan(1_000)
    })

  it('start while Redis is away, with one line of warning', async () => {
    const tally = await startTally({ env: { REDIS_URL: 'redis://user:hidden-password@127.0.0.1:1' } })
    expect(await statusOf(tally, tally.key)).to.equal(200)
    const { output } = await runCommand(tally.dataFolder, 'keys', 'issue')
    const [key = ''] = /tally_live_\w+/.exec(output) ?? []
    const [id = ''] = /[0-9a-f-]{36}/.exec(output) ?? []
    expect(await statusOf(tally, key)).to.equal(200)
    await runCommand(tally.dataFolder, 'keys', 'revoke', id)
    expect(await statusOf(tally, key)).to.equal(401) // its own process needs no message
    expect(tally.output().split('Redis is away').length - 1).to.equal(1)
    expect(tally.output()).not.to.contain('hidden-password')
    expect(await tally.stop()).to.equal(0)
    await tally.discard()
  })
})

/** Runs work repeatedly for some time, several at once, and returns the durations. */
async function timesOf(work: () => Promise<{ status: number }>, forMs: number): Promise<number[]> {
  const times: number[] = []
  const endAt = performance.now() + forMs
  const one = async () => {
    while (performance.now() < endAt) {
      const startedAt = performance.now()
      expect((await work()).status).to.equal(202)
      times.push(performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: 4 }, one))
  return times
}

const quantile = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0
