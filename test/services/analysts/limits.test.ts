import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type Answer, askAt, AUTHORIZATION } from '../../support/analysts.ts'
import { type AnalystHost, startAnalystHost, TRIAL } from '../../support/start-analyst-host.ts'
import { until } from '../../support/until.ts'

const MB = 1_024 * 1_024
/** TOO_MANY_SIMULTANEOUS_QUERIES */
const BUSY = 202

/** A query that runs for hours unless a limit ends it. */
const ENDLESS =
  'SELECT count() FROM events AS a, events AS b, events AS c WHERE cityHash64(a.event_id, b.event_id, c.event_id) = 1'

describe('limits of the ClickHouse endpoint', function () {
  this.timeout(120_000)
  let host: AnalystHost
  const ask = (query: string, url: Record<string, string> = {}) =>
    askAt(host.url, query, url, { authorization: AUTHORIZATION })
  const timed = async (work: Promise<Answer>) => {
    const startedAt = performance.now()
    return { answer: await work, ms: performance.now() - startedAt }
  }
  const service = (query: string) => askAt(host.url, query, {}, TRIAL)

  const start = async () => {
    host = await startAnalystHost({
      connections: 3,
      waitingMax: 200,
      limits: {
        timeoutS: 2,
        memoryBytes: 300 * MB,
        resultRows: 50_000,
        resultBytes: 8 * MB,
        readRows: 100_000_000,
        temporaryBytes: 64 * MB,
      },
    })
    await service(`INSERT INTO tally.usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties, accepted_at, version)
      SELECT 'n', concat('account_', toString(number % 1000)), 'usd', toDateTime(1767225600 + number), concat('event_', hex(toUInt32(1767225600 + number)), leftPad(toString(number), 24, '0')), 1, '{}', now64(6), 1
      FROM numbers(200000)`)
    expect((await ask('SELECT count() FROM events')).text).to.equal('200000\n')
  }
  before(start)
  after(async () => {
    await host.stop()
  })

  it('ends a heavy query by its time limit, and serves others meanwhile', async () => {
    const heavy = [timed(ask(ENDLESS)), timed(ask(ENDLESS))]
    await sleep(500)
    for (let i = 0; i < 10; i++) {
      const { answer, ms } = await timed(
        ask("SELECT max(quantity) FROM events WHERE account_id = 'account_7'"),
      )
      expect(answer.status).to.equal(200)
      expect(ms).to.be.lessThan(1_500)
    }
    for (const { answer, ms } of await Promise.all(heavy)) {
      expect([answer.status, answer.code]).to.deep.equal([408, 159])
      expect(ms).to.be.within(1_500, 4_000)
    }
  })

  it('does not keep a short query waiting for long ones', async () => {
    const heavy = [1, 2, 3, 4, 5, 6].map(() => timed(ask(ENDLESS)))
    await sleep(1_500) // three run, and three wait
    for (let i = 0; i < 3; i++) {
      const { answer, ms } = await timed(ask('SELECT 1'))
      expect(answer.text).to.equal('1\n')
      expect(ms).to.be.lessThan(1_000)
    }
    for (const { answer: ended } of await Promise.all(heavy)) expect(ended.code).to.be.oneOf([159, BUSY])
  })

  it('ends a query by its id, whether it runs or waits, and no other', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'other'] // three run at once
    const asked = ids.map((id) => timed(ask(ENDLESS, { query_id: `endless.${id}` })))
    await sleep(500)
    const kill = async (id: string) => (await ask(`KILL QUERY WHERE query_id = '${id}'`)).text
    for (const id of ids.slice(0, -1))
      expect(await kill(`endless.${id}`)).to.equal(`waiting\tendless.${id}\n`)
    const ended = await Promise.all(asked)
    for (const [nth, { answer, ms }] of ended.entries()) {
      expect(answer.code, `${ids[nth] ?? ''}: ${answer.text}`).to.equal(ids[nth] === 'other' ? 159 : 394)
      if (ids[nth] !== 'other') expect(ms).to.be.lessThan(1_900)
    }
    expect(await kill('endless.a')).to.equal('')
  })

  it('gives the whole of an answer, however its first attempt ended', async () => {
    const rows = await ask('SELECT event_id FROM events LIMIT 20000')
    expect(rows.text.split('\n')).to.have.length(20_001)
    for (const url of [{}, { max_block_size: '1000' }]) {
      const cut = await ask('SELECT event_id FROM events', {
        max_result_rows: '30000',
        result_overflow_mode: 'break',
        ...url, // analysts cannot set the block size
      })
      expect(cut.text.split('\n').length).to.be.within(30_001, 200_001)
    }
  })

  it('does not keep the services waiting while analysts use all that they may', async () => {
    const heavy = [1, 2, 3, 4, 5].map(() => ask(ENDLESS, { max_execution_time: '1' }))
    await sleep(300)
    const times: number[] = []
    for (let i = 0; i < 20; i++)
      times.push(
        (await timed(service("SELECT count() FROM tally.usage_events FINAL WHERE account_id = 'account_7'")))
          .ms,
      )
    expect(times.sort((a, b) => a - b)[10]).to.be.lessThan(1_000)
    expect(new Set((await Promise.all(heavy)).map(({ code }) => code))).to.deep.equal(new Set([159]))
  })

  it('gives judging and answering the time of one query together', async () => {
    // The engine computes this constant during the check and again for the answer, and no limit ends it in between.
    const constant = (n: number) =>
      `SELECT (SELECT arraySum(x -> length(${'SHA512('.repeat(9)}toString(x)${')'.repeat(9)}), range(${n})))`
    // The quickest of several: a machine that was busy for one of them must not make the query too short.
    const times: number[] = []
    for (let n = 0; n < 4; n++) times.push((await timed(service(constant(400_000)))).ms)
    const once = Math.round((400_000 * 1_500) / Math.min(...times))
    const { answer } = await timed(ask(constant(once)))
    expect([answer.status, answer.code], answer.text).to.deep.equal([408, 159])
  })

  it('lets an analyst only lower the limits', async () => {
    const { answer, ms } = await timed(ask(ENDLESS, { max_execution_time: '1' }))
    expect(answer.code).to.equal(159)
    expect(ms).to.be.lessThan(2_500)
    for (const max_execution_time of ['0', '3600']) {
      const higher = await timed(ask(ENDLESS, { max_execution_time }))
      expect(higher.answer.code).to.equal(159)
      expect(higher.ms).to.be.lessThan(5_000)
    }
    const rows = await ask('SELECT event_id FROM events', { max_result_rows: '0' })
    expect(rows.code).to.equal(396)
    const broken = await ask('SELECT event_id FROM events', {
      max_result_rows: '10',
      result_overflow_mode: 'break',
      max_threads: '64',
    })
    expect(broken.status).to.equal(200)
  })

  it('refuses answers that are too large, memory that is too much, and disk', async () => {
    const cases: [query: string, codes: number[]][] = [
      ['SELECT event_id FROM events', [396]],
      ['SELECT arrayMap(i -> event_id, range(1000)) FROM events LIMIT 40000', [396, 241]],
      ['SELECT groupArray(arrayMap(i -> event_id, range(100))) FROM events', [241]],
      ['SELECT range(100000000)', [69, 241]],
      ['SELECT arrayJoin(range(19000000)) AS x, range(10000) FROM events', [241, 396, 131]],
      [
        'SELECT a.event_id FROM events AS a, events AS b, events AS c ORDER BY cityHash64(a.event_id, b.event_id, c.event_id) LIMIT 1000000',
        [159, 241, 243, 396],
      ],
      [`SELECT 1 AS x${'y'.repeat(250)} FROM events LIMIT 49000 FORMAT JSONEachRow`, []],
      [`SELECT 1 AS ${'y'.repeat(300)}`, [168]],
    ]
    for (const [query, codes] of cases) {
      const { answer, ms } = await timed(ask(query))
      expect(answer.code, `${query}: ${answer.text.slice(0, 200)}`).to.be.oneOf(
        codes.length === 0 ? [undefined] : codes,
      )
      expect(ms, query).to.be.lessThan(6_000)
    }
  })

  it('bounds what a short query unfolds to before it runs', async () => {
    const steps = (n: number, step: (i: number) => string) =>
      Array.from({ length: n }, (_, i) => step(i)).join(', ')
    const queries = [
      `WITH c0 AS (SELECT 1 AS x), ${steps(30, (i) => `c${i + 1} AS (SELECT a.x FROM c${i} AS a, c${i} AS b)`)} SELECT count() FROM c30`,
      `WITH c0 AS (SELECT 1 AS x), ${steps(30, (i) => `c${i + 1} AS (SELECT (SELECT x FROM c${i}) + (SELECT x FROM c${i}) AS x)`)} SELECT x FROM c30`,
      `SELECT 1 AS a0, ${steps(40, (i) => `a${i} + a${i} AS a${i + 1}`)}`,
      `WITH 'x' AS a0, ${steps(40, (i) => `concat(a${i}, a${i}) AS a${i + 1}`)} SELECT a40`,
      `SELECT ${'('.repeat(5_000)}1${')'.repeat(5_000)}`,
      `SELECT ${'['.repeat(5_000)}1${']'.repeat(5_000)}`,
      `SELECT ${'abs('.repeat(5_000)}1${')'.repeat(5_000)}`,
      `SELECT ${'1+'.repeat(100_000)}1`,
      `SELECT * FROM ${'(SELECT * FROM '.repeat(2_000)}events${')'.repeat(2_000)}`,
      `SELECT ${'-('.repeat(20_000)}`,
      `SELECT ${'CASE WHEN '.repeat(10_000)}`,
      `SELECT count() FROM events GROUP BY CUBE(${steps(25, (i) => `quantity + ${i}`)})`,
      `SELECT [${steps(60_000, String)}]`,
      `SELECT ${steps(20_000, (i) => `c${i}`)} FROM events`,
      `SELECT 1${' UNION ALL SELECT 1'.repeat(13_000)}`,
      `SELECT '${' (alias x'.repeat(25_000)}'`,
      `SELECT '${' FORMAT x'.repeat(25_000)}'`,
      `SELECT throwIf(1, '${' (version 1'.repeat(20_000)}')`,
      `SELECT ${' '.repeat(250_000)}1 FORMAT`,
    ]
    for (const query of queries) {
      const health = sleep(20).then(() => timed(fetch(`${host.url}/ping`).then(() => ({}) as Answer)))
      const { answer, ms } = await timed(ask(query))
      expect(answer.code, answer.text.slice(0, 200)).to.not.equal(1002)
      expect(ms, `${query.slice(0, 100)}: ${answer.text.slice(0, 200)}`).to.be.lessThan(8_000)
      // The event loop is never blocked for long.
      expect((await health).ms, query.slice(0, 100)).to.be.lessThan(600)
    }
  })

  it('takes no more time zones than it can bear', async () => {
    const zones = Intl.supportedValuesOf('timeZone').slice(0, 60)
    // Names that nothing has are not counted.
    for (let i = 0; i < 40; i++)
      expect((await ask(`SELECT toTimezone(now(), 'Zz${i}')`)).status).to.equal(400)
    const answers: Answer[] = []
    for (const zone of zones) answers.push(await ask(`SELECT toTimezone(now(), '${zone}')`))
    expect((await ask("SELECT toTimezone(now(), 'UTC')")).status).to.equal(200)
    const served = answers.filter(({ status }) => status === 200).length
    expect(served).to.be.within(20, 32)
    expect(answers.filter(({ code }) => code === 36)).to.have.length(60 - served)
  })

  it('serves 80 requests at once, each with its own answer, and again whom it turned away as busy', async () => {
    const { pid } = host.process
    const residentMb = async () =>
      Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid ?? 0}/status`, 'utf8'))?.[1]) / 1_024
    const before = await residentMb()
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, n) =>
        until(async () => {
          const answer = await ask(
            'SELECT {n:UInt32}, count() FROM events WHERE account_id = {account:String}',
            {
              param_n: String(n),
              param_account: `account_${n}`,
            },
          )
          return answer.code === BUSY ? false : answer
        }),
      ),
    )
    expect(answers.map(({ text }) => text)).to.deep.equal(answers.map((_, n) => `${n}\t200\n`))
    expect((await residentMb()) - before).to.be.lessThan(500)
  })

  it('turns away more than may wait', async () => {
    // Heavy queries, so that few get their turn while the others arrive.
    const answers = await Promise.all(Array.from({ length: 320 }, () => ask(ENDLESS)))
    const turnedAway = answers.filter(({ code }) => code === BUSY)
    expect(turnedAway.every(({ text }) => text.includes('Too many simultaneous queries'))).to.equal(true)
    const atOnce = turnedAway.filter(({ text }) => text.includes('too many queries are waiting'))
    expect(atOnce.length).to.be.within(1, 120)
  })

  it('ends a query whose client has gone', async () => {
    const running = () =>
      service(
        "SELECT count() FROM system.processes WHERE Settings['log_comment'] LIKE 'analyst:%' AND query LIKE '%cityHash64(%'",
      ).then(({ text }) => Number(text))
    const gone = new AbortController()
    const asked = fetch(host.url, {
      method: 'POST',
      body: ENDLESS,
      headers: { authorization: AUTHORIZATION },
      signal: gone.signal,
    }).catch(() => undefined)
    await until(async () => (await running()) > 0)
    gone.abort()
    await asked
    const startedAt = performance.now()
    await until(async () => (await running()) === 0)
    expect(performance.now() - startedAt).to.be.lessThan(1_500)
  })

  it('keeps no turn of a client that has gone, however far its answer is', async () => {
    const leave = async (query: string, afterMs: number) => {
      const asked = request(`${host.url}/?enable_http_compression=1`, {
        method: 'POST',
        headers: { authorization: AUTHORIZATION, 'accept-encoding': 'gzip' },
        agent: false,
      })
      asked.on('error', () => undefined).end(query)
      await sleep(afterMs)
      asked.destroy()
    }
    // Usually the first queries are checked or run when their client disconnects, and answers of the second are
    // compressed.
    const large =
      'SELECT arrayStringConcat(arrayMap(i -> hex(cityHash64(event_id, i)), range(9))) FROM events LIMIT 48000'
    for (let i = 0; i < 20; i++) await leave('SELECT 1', i + 1)
    for (let i = 0; i < 20; i++) await leave(large, 25 * (i + 1))
    for (let i = 0; i < 3; i++) {
      const { answer, ms } = await timed(ask('SELECT 1'))
      expect(answer.text).to.equal('1\n')
      expect(ms).to.be.lessThan(1_500)
    }
    // A query that has ended is not killed.
    const kills = () =>
      service("SELECT value FROM system.events WHERE event = 'Query'").then(({ text }) => Number(text))
    const before = await kills()
    await sleep(500)
    expect((await kills()) - before).to.be.lessThan(5)
  })

  it('stops in time, whatever is running', async () => {
    const asked = [1, 2, 3, 4, 5, 6].map(() => ask(ENDLESS).catch(() => undefined))
    await sleep(500)
    const { ms, code } = await host.stop()
    expect(code).to.equal(0)
    expect(ms).to.be.lessThan(2_500)
    await Promise.all(asked)
    await start()
  })
})
