import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type EventLog, LOADER_GROUP, USAGE_TOPIC } from '../../../shared/event-log/event-log.ts'
import { openPostgresEventLog } from '../../../shared/event-log/postgres/postgres-event-log.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { ApiClient } from '../../support/api-client.ts'
import { changeClickHouse, connectToPostgres, runCommand } from '../../support/by-hand.ts'
import { testLog } from '../../support/log.ts'
import { type RunningTally, startTally } from '../../support/start-tally.ts'
import { until } from '../../support/until.ts'
import { makeWorld } from '../../support/usage-world.ts'

const DAY_S = 86_400

describe('the audit and the dead letters', function () {
  this.timeout(120_000)
  let tally: RunningTally
  let api: ApiClient
  let world: Awaited<ReturnType<typeof makeWorld>>
  const now = Math.floor(Date.now() / 1_000)

  /** The start of the test. Earlier usage of other tests is not checked. */
  let from: string

  // Why a separate Tally: the test stops it and changes its ClickHouse.
  before(async () => {
    tally = await startTally()
    api = new ApiClient(tally.url, tally.key)
  })
  after(async () => {
    await tally.discard()
  })
  beforeEach(async () => {
    world = await makeWorld(api)
    const second = Math.ceil(Date.now() / 1_000) * 1_000
    await sleep(second - Date.now())
    from = new Date(second).toISOString()
  })

  const restart = async () => {
    tally = await startTally({ dataFolder: tally.dataFolder })
    api = new ApiClient(tally.url, tally.key)
  }

  /** The audit's output, when it covers all reported usage. */
  const auditOf = (logged: number) =>
    until(async () => {
      const result = await runCommand(tally.dataFolder, 'audit', '--from', from)
      return new RegExp(`lines in the log +${logged}$`, 'm').test(result.output) && result
    })

  const openLog = async (pool: Pool): Promise<EventLog> =>
    openPostgresEventLog({
      pool,
      topic: USAGE_TOPIC,
      partitions: 1,
      log: testLog,
      appendDeadlineMs: 5_000,
      appendsWaitingMax: 10,
      appendsWaitingBytesMax: 100_000_000,
      leaseMs: 1_000,
      segmentBytesMax: 1e9,
      segmentAgeMaxMs: 1e9,
      retentionMs: 1e9,
      housekeepingMs: 0,
      alone: false,
    })

  const appendByHand = async (partition: number, value: Buffer): Promise<void> => {
    const pool = await connectToPostgres(tally.dataFolder)
    const log = await openLog(pool)
    await log.append([{ partition, acceptedAt: Date.now() * 1_000, value }])
    await until(async () => (await log.lag(LOADER_GROUP)).every(({ committed, end }) => committed === end))
    await log.close()
    await pool.end()
  }

  it('says so when every report is counted, also those that came twice', async () => {
    const events = Array.from({ length: 50 }, (_, n) => ({
      metric_id: world.tokens,
      quantity: '0.1',
      occurred_at: now - n,
      idempotency_key: `k${n}`,
    }))
    await world.reportAll(events)
    await world.reportAll(events.slice(0, 30).toReversed())
    await world.counted(50)
    const { code, output } = await auditOf(80)
    expect(code, output).to.equal(0)
    expect(output).to.match(/counted +50$/m)
    expect(output).to.match(/reported again +30$/m)
    expect(output).to.match(/lost +0$/m)
    expect(output).to.match(/events in ClickHouse +50$/m)
    expect(output).to.contain('everything adds up')
  })

  it('finds a row that was deleted, one that was changed and one that was put there', async () => {
    const { body } = await world.reportAll(
      Array.from({ length: 10 }, () => ({ metric_id: world.tokens, quantity: '1', occurred_at: now - 5 })),
    )
    const [lost = '', altered = ''] = body.event_ids
    await world.counted(10)
    await auditOf(10)
    await tally.stop()
    const row = (id: string, quantity: string, version: string) => `
      INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties, accepted_at, version)
      SELECT namespace_id, account_id, source, occurred_at, '${id}', ${quantity}, properties, accepted_at, ${version}
      FROM usage_events FINAL WHERE id = unhex('${altered.slice(6)}')`
    const planted = `${lost.slice(0, 14)}${'ab'.repeat(12)}`
    await changeClickHouse(
      tally.dataFolder,
      `DELETE FROM usage_events WHERE id = unhex('${lost.slice(6)}')`,
      row(altered, "toDecimal128('1000', 18)", 'version'),
      row(planted, "toDecimal128('7', 18)", 'version'),
    )
    await restart()
    const { code, output } = await auditOf(10)
    expect(code, output).to.equal(1)
    expect(output).to.match(/counted +9$/m)
    expect(output).to.match(/lost +1$/m)
    expect(output).to.match(new RegExp(`^LOST: ${lost} .*neither counted nor in the dead letters`, 'm'))
    expect(output).to.match(new RegExp(`^ALTERED: ${altered} .*quantity is 1000, the log has 1$`, 'm'))
    expect(output).to.match(new RegExp(`^NOT IN THE LOG: ${planted}`, 'm'))
    expect(output).to.contain('3 findings')
  })

  it('finds a row that counts twice, one with a version of nobody, and one at another time than its id says', async () => {
    const { body } = await world.reportAll(
      Array.from({ length: 5 }, () => ({ metric_id: world.tokens, quantity: '1', occurred_at: now - 5 })),
    )
    const [doubled = '', superseded = '', moved = ''] = body.event_ids
    await world.counted(5)
    await auditOf(5)
    await tally.stop()
    const copy = (id: string, change: string) => `
      INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties, accepted_at, version)
      SELECT namespace_id, account_id, source, occurred_at, '${id}', quantity, properties, accepted_at, version
      FROM (SELECT * REPLACE (${change}) FROM usage_events FINAL WHERE id = unhex('${id.slice(6)}'))`
    await changeClickHouse(
      tally.dataFolder,
      copy(doubled, "'usd' AS source"),
      copy(superseded, 'version + 256 AS version, quantity + 1 AS quantity'),
      copy(moved, 'occurred_at - 86400 AS occurred_at'),
    )
    await restart()
    const { code, output } = await auditOf(5)
    expect(code).to.equal(1)
    expect(output).to.match(new RegExp(`^DOUBLED: ${doubled}`, 'm'))
    expect(output).to.match(new RegExp(`^SUPERSEDED BY NOBODY: ${superseded}`, 'm'))
    expect(output).to.match(new RegExp(`^MISPLACED: ${moved}`, 'm'))
  })

  it('balances of wrong rollups are right again soon after a rebuild', async () => {
    const occurredAt = now - 100 * DAY_S
    await world.report({ metric_id: world.tokens, quantity: '1', occurred_at: occurredAt })
    await world.counted(1)
    const tables = ['usage_by_month', 'usage_by_day']
    const ofAccount = (table: string) => `FROM ${table} WHERE account_id = '${world.account}'`
    // Late marks of earlier tests are worked off meanwhile, too, so their count says nothing of this account.
    await until(async () => {
      await sleep(2_000)
      await tally.stop()
      const isRolledUp = await changeClickHouse(
        tally.dataFolder,
        ...tables.map((table) => `SELECT throwIf(count() = 0, 'no rollups yet') ${ofAccount(table)}`),
      ).then(
        () => true,
        (err: unknown) => {
          if (!String(err).includes('no rollups yet')) throw err
          return false
        },
      )
      if (isRolledUp) return true
      await restart()
      return false
    }, 60_000)
    await changeClickHouse(
      tally.dataFolder,
      ...tables.map(
        (table) =>
          `INSERT INTO ${table} SELECT * REPLACE (sum + 5 AS sum, version + 1 AS version) ${ofAccount(table)}`,
      ),
    )
    await restart()
    const balance = async () => {
      const { text } = await api.get(`/v2/accounts/${world.account}/balance?metric_id=${world.tokens}`)
      return (JSON.parse(text) as { usage_total: string }).usage_total
    }
    expect([await balance(), await balance()], 'balances of wrong rollups').to.deep.equal(['6', '6'])
    expect((await runCommand(tally.dataFolder, 'rebuild')).code).to.equal(0)
    await until(async () => (await balance()) === '1', 20_000)
  })

  it('can be asked about a range of time', async () => {
    await world.report({ metric_id: world.tokens, quantity: '1' })
    await world.counted(1)
    await auditOf(1)
    const past = await runCommand(
      tally.dataFolder,
      'audit',
      '--from',
      '2020-01-01T00:00:00Z',
      '--to',
      '2020-02-01T00:00:00Z',
    )
    expect(past.output).to.match(/lines in the log +0$/m)
    expect(past.code).to.equal(0)
    expect((await runCommand(tally.dataFolder, 'audit', '--from', 'yesterday')).code).to.equal(2)
  })

  it('makes one dead letter of a poison line, with its reason, and counts everything beside it', async () => {
    const template = await world.report({ metric_id: world.tokens, quantity: '1' })
    await world.counted(1)
    const pool = await connectToPostgres(tally.dataFolder)
    const log = await openLog(pool)
    const lag = await log.lag(LOADER_GROUP)
    const written = await Promise.all(
      lag.map(({ partition }) => log.read({ partition, offset: 0 }, 1_000_000)),
    )
    const logged = written.flat().flatMap(({ value }) => value.toString().split('\n'))
    const line = logged.find((one) => one.includes(template.body.id)) ?? ''
    await log.close()
    await pool.end()
    const { id } = template.body
    const lastByte = parseInt(id.slice(-2), 16)
    /** The line with an id of its own. */
    const withId = (n: number) =>
      line.replace(id, id.slice(0, -2) + ((lastByte + n) % 256).toString(16).padStart(2, '0'))
    const lines = [withId(1), '{"namespace_id":', withId(2), line.replace('"1"', '"1e400"'), withId(3)]
    await appendByHand(0, Buffer.from(lines.join('\n')))
    await appendByHand(0, Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(withId(4))]))
    await appendByHand(0, Buffer.from(''))
    // Our own parser accepts this line and ClickHouse does not: half of a surrogate pair is valid JSON, but not valid
    // text.
    await appendByHand(
      0,
      Buffer.from(
        [withId(5), withId(7).replace('"property_pairs":[', '"property_pairs":["a=\\ud800"'), withId(6)].join(
          '\n',
        ),
      ),
    )
    await world.counted(6)
    expect(await world.usage()).to.deep.equal({ [world.tokens]: '6' })
    const list = await runCommand(tally.dataFolder, 'dead-letters', 'list')
    expect(list.output.trim().split('\n')).to.have.length(6)
    expect(list.output).to.match(/0\/\d+\/1 .* not JSON/)
    expect(list.output).to.match(/0\/\d+\/3 .* quantity: "1e400" is not a plain decimal/)
    expect(list.output).to.match(/not valid UTF-8/)
    expect(list.output).to.match(/ClickHouse: /)
    const show = await runCommand(tally.dataFolder, 'dead-letters', 'show', '1')
    expect(show.output).to.contain('text     {"namespace_id":')
    const { code, output } = await auditOf(11)
    expect(code, output).to.equal(0)
    expect(output).to.match(/in the dead letters +5$/m)
    expect(output).to.match(/counted +6$/m)
  })

  it('puts dead letters back into the log, as often as one likes', async () => {
    const list = async () => {
      const { output } = await runCommand(tally.dataFolder, 'dead-letters', 'list')
      const rows = output.matchAll(/^ *(\d+) +\d+\/\d+\/\d+ +\S+Z( +\S+Z)? /gm)
      return [...rows].map(([, id = '', retriedAt]) => ({ id, waits: retriedAt === undefined }))
    }
    await appendByHand(0, Buffer.from('nonsense'))
    const before = await list()
    const id = String(Math.max(...before.map((letter) => Number(letter.id))))
    const retry = await runCommand(tally.dataFolder, 'dead-letters', 'retry', id)
    expect(retry.code, retry.output).to.equal(0)
    const again = await until(async () => {
      const letters = await list()
      return letters.length === before.length + 1 && letters // it still cannot be read
    })
    await runCommand(tally.dataFolder, 'dead-letters', 'retry', '--all')
    const waiting = again.filter(({ waits }) => waits).length
    await until(async () => (await list()).length === again.length + waiting)
    expect((await runCommand(tally.dataFolder, 'dead-letters', 'show', '9999')).code).to.equal(1)
    expect((await runCommand(tally.dataFolder, 'dead-letters', 'burn')).output).to.contain(
      'dead-letters takes list, show, retry, not "burn": say which\nSee npm run dead-letters -- --help.',
    )
  })

  it('keeps every total exact for many reports, half of them repeats in other requests and another order', async () => {
    const events = Array.from({ length: 5_000 }, (_, n) => ({
      metric_id: n % 2 === 0 ? world.tokens : world.calls,
      quantity: `0.${String(n % 1_000).padStart(3, '0')}`,
      occurred_at: now - n * 37,
      idempotency_key: `k${n}`,
    }))
    const send = async (list: typeof events, size: number) => {
      const chunks = Array.from({ length: Math.ceil(list.length / size) }, (_, n) =>
        list.slice(n * size, (n + 1) * size),
      )
      const statuses = await Promise.all(chunks.map(async (chunk) => (await world.reportAll(chunk)).status))
      expect(new Set(statuses)).to.deep.equal(new Set([202]))
    }
    await Promise.all([send(events, 700), send(events.toReversed(), 450)])
    await world.counted(5_000)
    const { output, code } = await auditOf(10_000)
    expect(code, output).to.equal(0)
    expect(await world.usage('&aggregation=count')).to.deep.equal({
      [world.tokens]: '2500',
      [world.calls]: '2500',
    })
    const total = (parity: number) =>
      events.reduce((sum, _, n) => (n % 2 === parity ? sum + (n % 1_000) : sum), 0) / 1_000
    expect(await world.usage()).to.deep.equal({
      [world.tokens]: String(total(0)),
      [world.calls]: String(total(1)),
    })
  })
})
