import { once } from 'node:events'
import { request } from 'node:http'
import { gunzipSync, gzipSync } from 'node:zlib'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { expect } from 'chai'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import {
  type AnalystEndpoint,
  askAt,
  AUTHORIZATION,
  PASSWORD,
  startAnalysts,
  USER,
} from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { makeCorrection, makeReport } from '../../support/usage-event.ts'
import { unpackBlocks } from './unpack-blocks.ts'

const LARGEST = '99999999999999999999.999999999999999999'

describe('analysts at the ClickHouse endpoint', () => {
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  const insert = (...events: UsageEvent[]) =>
    usageEventRepository(clickhouse.client).insertLines(Buffer.from(events.map(usageEventToLine).join('\n')))
  const ask: AnalystEndpoint['ask'] = (...args) => endpoint.ask(...args)
  /** Sends a query that must succeed, and returns the text of the answer. */
  const read = async (query: string, url: Record<string, string> = {}) => {
    const { status, text } = await ask(query, url)
    expect(status, text).to.equal(200)
    return text
  }

  before(async () => {
    clickhouse = await createClickHouse('analysts')
    endpoint = await startAnalysts(clickhouse)
    await insert(
      makeReport({ quantity: '2.5', properties: '{"model":"large"}' }),
      makeReport({ quantity: '0.000000000000000001' }),
      makeReport({ quantity: '7', source: `metric_${'b'.repeat(32)}`, occurredAt: 1_767_312_000 }),
    )
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  describe('totals', () => {
    it('reads events and daily usage, exact to the last digit', async () => {
      expect(
        await read('SELECT currency, sum(quantity) FROM events GROUP BY currency ORDER BY currency'),
      ).to.equal('usd\t2.500000000000000001\n\\N\t7\n')
      expect(
        await read('SELECT day, sum(quantity), sum(events) FROM daily_usage GROUP BY day ORDER BY day'),
      ).to.equal('2026-01-01\t2.500000000000000001\t2\n2026-01-02\t7\t1\n')
    })

    it('does not wrap around where a sum of Decimal128 would', async () => {
      const account = `account_${'c'.repeat(32)}`
      await insert(...Array.from({ length: 20 }, () => makeReport({ accountId: account, quantity: LARGEST })))
      expect(await read(`SELECT sum(quantity) FROM events WHERE account_id = '${account}'`)).to.equal(
        '1999999999999999999999.99999999999999998\n',
      )
    })

    it('does not show voided events, and shows corrected ones as they are now', async () => {
      const account = `account_${'d'.repeat(32)}`
      const [voided, corrected] = [makeReport({ accountId: account }), makeReport({ accountId: account })]
      await insert(voided, corrected)
      await insert(makeCorrection(voided, { voided: true }), makeCorrection(corrected, { quantity: '5' }))
      const own = `FROM events WHERE account_id = '${account}'`
      expect(await read(`SELECT event_id, quantity ${own}`)).to.equal(`${corrected.id}\t5\n`)
      expect(await read(`SELECT count() ${own} AND event_id = '${voided.id}'`)).to.equal('0\n')
    })

    it('never brings a replaced row back by a filter on a column outside the key', async () => {
      const account = `account_${'e'.repeat(32)}`
      const first = makeReport({ accountId: account, quantity: '1', properties: '{"model":"first"}' })
      await insert(first)
      await insert(makeCorrection(first, { quantity: '2', properties: '{"model":"second"}' }))
      const own = `FROM events WHERE account_id = '${account}'`
      expect(await read(`SELECT count() ${own} AND quantity = 1`)).to.equal('0\n')
      expect(await read(`SELECT count() ${own} AND properties LIKE '%first%'`)).to.equal('0\n')
      expect(await read(`SELECT count() ${own} AND corrected_at IS NULL`)).to.equal('0\n')
      expect(await read(`SELECT quantity ${own} AND properties LIKE '%second%'`)).to.equal('2\n')
    })
  })

  it('runs what dashboards are made of', async () => {
    const queries = [
      'SELECT 1',
      'SELECT version(), timezone(), currentDatabase(), now() > toDateTime(0)',
      'SELECT toStartOfInterval(occurred_at, INTERVAL 1 hour) AS time, count() AS n FROM events GROUP BY time ORDER BY time',
      'SELECT toStartOfDay(occurred_at, \'Europe/Berlin\') AS day, sum(quantity) AS "Total (USD)" FROM events GROUP BY ALL',
      'WITH t AS (SELECT account_id, sum(quantity) AS q FROM events GROUP BY account_id) SELECT * FROM t ORDER BY q DESC LIMIT 3',
      'SELECT day, sum(quantity) OVER (PARTITION BY account_id ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) FROM daily_usage',
      'SELECT account_id, rank() OVER w FROM daily_usage WINDOW w AS (ORDER BY quantity DESC)',
      "SELECT JSONExtractString(properties, 'model') AS model, uniq(account_id), quantile(0.9)(quantity) FROM events GROUP BY model",
      "SELECT JSONExtract(properties, 'model', 'Nullable(String)') FROM events",
      'SELECT e.event_id, d.quantity FROM events AS e LEFT JOIN daily_usage AS d ON e.account_id = d.account_id AND toDate(e.occurred_at) = d.day',
      'SELECT count() FROM events WHERE account_id IN (SELECT account_id FROM daily_usage WHERE quantity > 1)',
      "SELECT count() FROM events WHERE (account_id, currency) IN (('a', 'usd'), ('b', 'eur'))",
      'SELECT * EXCEPT (properties) REPLACE (round(quantity, 2) AS quantity) FROM events',
      "SELECT COLUMNS('_at$') FROM events",
      'SELECT day, sum(quantity) FROM daily_usage GROUP BY day ORDER BY day WITH FILL STEP 1',
      'SELECT account_id, sum(quantity) FROM events GROUP BY account_id WITH TOTALS HAVING count() > 0',
      'SELECT currency, metric_id, count() FROM events GROUP BY GROUPING SETS ((currency), (metric_id), ())',
      'SELECT currency, GROUPING(currency), sum(quantity) FROM events GROUP BY ROLLUP(currency)',
      'SELECT untuple(tuple(account_id, currency)) FROM events',
      'SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3 INTERSECT (SELECT 4)',
      'SELECT x, arrayMap(y -> y + x, [1, 2]), arrayMap(toString, [3]) FROM (SELECT 5 AS x) ARRAY JOIN [1, 2] AS z',
      'WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n',
      "SELECT multiIf(quantity > 5, 'high', quantity > 1, 'middle', 'low') AS level, count() FROM events GROUP BY level",
      "SELECT CASE currency WHEN 'usd' THEN 1 ELSE 2 END, quantity::Float64, CAST(quantity AS String), -quantity, NOT 1, quantity BETWEEN 1 AND 2 FROM events",
      "SELECT dateDiff('day', min(occurred_at), max(occurred_at)), date_trunc('month', max(occurred_at)), formatDateTime(max(occurred_at), '%Y-%m') FROM events",
      "SELECT sumIf(quantity, currency = 'usd'), countIf(1), avg(quantity), argMax(quantity, occurred_at), groupArray(5)(event_id), topK(3)(account_id) FROM events",
      "SELECT (SELECT max(quantity) FROM events) AS largest, EXISTS (SELECT 1 FROM events), [1, 2][1], (1, 2).2, map('a', 1)['a']",
      'SELECT event_id FROM events ORDER BY occurred_at DESC, event_id LIMIT 1 BY account_id LIMIT 2 OFFSET 1 /* a comment */ -- and another',
      'SELECT lower(account_id) AS `user`, count(DISTINCT `user`) FROM events GROUP BY `user`;',
      `SELECT count() FROM ${endpoint.database}.events, ${endpoint.database}.daily_usage`,
      'SHOW TABLES',
      'SHOW DATABASES',
      `SHOW TABLES FROM "${endpoint.database}"`,
      'DESCRIBE TABLE events',
      `DESC ${endpoint.database}.daily_usage`,
      'EXISTS TABLE events',
    ]
    for (const query of queries) {
      const { status, text } = await ask(query)
      expect(status, `${query}: ${text}`).to.equal(200)
    }
  })

  describe('formats', () => {
    it('takes the format from the query, the header or the URL, in this order', async () => {
      expect(await read('SELECT 1 AS a FORMAT JSONEachRow', { default_format: 'CSV' })).to.equal('{"a":1}\n')
      expect(await read("SELECT 'a b'", { default_format: 'CSV' })).to.equal('"a b"\n')
      const { text, headers } = await ask(
        "SELECT 'a b'",
        { default_format: 'CSV' },
        { 'X-ClickHouse-Format': 'JSON' },
      )
      expect(JSON.parse(text)).to.include({ rows: 1 })
      expect(headers.get('x-clickhouse-format')).to.equal('JSON')
      expect(headers.get('content-type')).to.match(/^application\/json/)
    })

    it('writes each format that may be asked for', async () => {
      for (const format of [
        'TSVWithNames',
        'CSVWithNames',
        'JSONCompact',
        'JSONStringsEachRow',
        'Pretty',
        'Vertical',
        'XML',
        'Markdown',
        'Values',
        'RowBinaryWithNamesAndTypes',
        'Native',
        'Parquet',
        'ArrowStream',
      ])
        expect(
          (
            await read('SELECT quantity, occurred_at, properties, account_id FROM events', {
              default_format: format,
            })
          ).length,
        ).to.be.greaterThan(50)
    })

    it('keeps digits that a double would lose', async () => {
      const text = await read(
        'SELECT quantity, toUInt64(18446744073709551615) AS n FROM events ORDER BY quantity LIMIT 1',
        {
          default_format: 'JSONEachRow',
          output_format_json_quote_decimals: '1',
          output_format_json_quote_64bit_integers: '1',
        },
      )
      expect(JSON.parse(text)).to.deep.equal({ quantity: '0.000000000000000001', n: '18446744073709551615' })
    })

    it('keeps the settings of one query from the next', async () => {
      const query = "SELECT toDateTime('2026-01-01 00:00:00', 'UTC') FORMAT TSV"
      await Promise.all([1, 2, 3, 4].map(() => read(query, { date_time_output_format: 'iso', limit: '1' })))
      expect(await read(query)).to.equal('2026-01-01 00:00:00\n')
      expect(await read('SELECT arrayJoin([1, 2, 3])')).to.equal('1\n2\n3\n')
    })
  })

  describe('parameters', () => {
    it('binds values by their types, whatever is in them', async () => {
      const query = "SELECT {n:UInt64} + 1, {s:String}, {list:Array(String)}, {at:DateTime('UTC')}"
      expect(
        await read(query, {
          param_n: '41',
          param_s: "'); DROP TABLE events; --",
          param_list: "['a','b''c']",
          param_at: '2026-01-01 00:00:00',
        }),
      ).to.equal("42\t\\'); DROP TABLE events; --\t['a','b\\'c']\t2026-01-01 00:00:00\n")
    })

    it('knows none but those of the request', async () => {
      await read('SELECT {secret:String}', { param_secret: 'of another analyst' })
      for (const name of ['secret', 'tally_judged_query']) {
        const { text, code } = await ask(`SELECT {${name}:String}`)
        expect(code).to.equal(456)
        expect(text).to.not.contain('another analyst')
      }
    })

    it('does not mix the parameters of queries that run side by side', async () => {
      const numbers = Array.from({ length: 40 }, (_, i) => String(i))
      const answers = await Promise.all(
        numbers.map((n) => read('SELECT {n:UInt32} FROM events LIMIT 1', { param_n: n })),
      )
      expect(answers).to.deep.equal(numbers.map((n) => `${n}\n`))
    })
  })

  describe('the protocol', () => {
    const get = (path: string, headers: Record<string, string> = {}) =>
      fetch(`${endpoint.url}${path}`, { headers })

    it('takes a query from a GET, from the body, and from both', async () => {
      const authorization = { authorization: AUTHORIZATION }
      expect(
        await (await get('/?query=SELECT%20count()%20%3E%200%20FROM%20events', authorization)).text(),
      ).to.equal('1\n')
      expect((await ask('+ 1', { query: 'SELECT 1' })).text).to.equal('2\n')
    })

    it('takes the password in every way that ClickHouse does, one at a time', async () => {
      const ways: [string, Record<string, string>][] = [
        ['/?query=SELECT+1', { authorization: AUTHORIZATION }],
        ['/?query=SELECT+1', { 'x-clickhouse-user': USER, 'x-clickhouse-key': PASSWORD }],
        [`/?query=SELECT+1&user=${USER}&password=${encodeURIComponent(PASSWORD)}`, {}],
      ]
      for (const [path, headers] of ways) expect((await get(path, headers)).status).to.equal(200)
      const [path = ''] = ways[2] ?? []
      expect((await get(path, { authorization: AUTHORIZATION })).status).to.equal(403)
    })

    it('refuses a wrong name and a wrong password in the same words, and says when there is none', async () => {
      const tries: [string, string][] = [
        [USER, 'wrong'],
        ['nobody', PASSWORD],
        [USER, ''],
        ['default', ''],
        ['trial', PASSWORD],
        [USER, `${PASSWORD} `],
      ]
      for (const [user, password] of tries) {
        const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
        const { status, text } = await askAt(endpoint.url, 'SELECT 1', {}, { authorization })
        expect(status).to.equal(403)
        expect(text).to.equal(
          `Code: 516. DB::Exception: ${user}: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED) (version 26.7.2.1)\n`,
        )
      }
      const none = await askAt(endpoint.url, 'SELECT 1', {}, {})
      expect([none.status, none.code]).to.deep.equal([401, 194])
      expect(none.headers.get('www-authenticate')).to.match(/^Basic /)
    })

    it('answers with the headers of ClickHouse', async () => {
      const { headers } = await ask('SELECT count() FROM events', { query_id: 'my.query-1' })
      expect(headers.get('x-clickhouse-query-id')).to.equal('my.query-1')
      expect(headers.get('x-clickhouse-timezone')).to.equal('UTC')
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(JSON.parse(headers.get('x-clickhouse-summary') ?? '')).to.include({
        result_rows: '1',
        written_rows: '0',
      })
    })

    it('tells errors as ClickHouse does, with its status and its code', async () => {
      const cases: [string, number, number, string][] = [
        ['SELECT * FROM nowhere', 404, 60, 'UNKNOWN_TABLE'],
        ['SELECT nothing FROM events', 404, 47, 'UNKNOWN_IDENTIFIER'],
        ['SELECT no_such_function(1)', 404, 46, 'UNKNOWN_FUNCTION'],
        ['SELEC 1', 400, 62, 'SYNTAX_ERROR'],
        ['', 400, 62, 'SYNTAX_ERROR'],
        ["SELECT toUInt8('a')", 400, 6, 'CANNOT_PARSE_TEXT'],
        ['SELECT 1 FORMAT Nonsense', 404, 73, 'UNKNOWN_FORMAT'],
        ['SELECT throwIf(1)', 500, 395, 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'],
      ]
      for (const [query, status, code, type] of cases) {
        const answer = await ask(query)
        expect([answer.status, answer.code], `${query}: ${answer.text}`).to.deep.equal([status, code])
        expect(answer.text).to.match(
          new RegExp(`^Code: ${code}\\. DB::Exception: .* \\(${type}\\) \\(version `, 's'),
        )
        expect(answer.text).to.not.contain('formatQuery')
      }
    })

    it('compresses when it is asked to, and reads a compressed query', async () => {
      const { port } = new URL(endpoint.url)
      const sent = request({
        port,
        method: 'POST',
        path: '/?enable_http_compression=1',
        headers: { authorization: AUTHORIZATION, 'accept-encoding': 'gzip', 'content-encoding': 'gzip' },
      })
      sent.end(gzipSync('SELECT arrayMap(i -> 7, range(10000))'))
      const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage]
      expect(response.headers['content-encoding']).to.equal('gzip')
      const bytes = Buffer.concat((await response.toArray()) as Buffer[])
      expect(bytes.length).to.be.lessThan(1_000)
      expect(gunzipSync(bytes).toString()).to.equal(`[${Array(10_000).fill(7).join(',')}]\n`)
    })

    it('packs answers and errors into compressed blocks when it is asked to', async () => {
      const answer = async (query: string, url: string) => {
        const response = await fetch(`${endpoint.url}/?compress=1${url}`, {
          method: 'POST',
          body: query,
          headers: { authorization: AUTHORIZATION },
        })
        return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) }
      }
      const numbers = await answer('SELECT arrayJoin(range(100000))', '')
      expect(numbers.status).to.equal(200)
      expect(unpackBlocks(numbers.bytes).toString()).to.equal(
        Array.from({ length: 100_000 }, (_, n) => `${n}\n`).join(''),
      )
      const zipped = await answer('SELECT 1', '&enable_http_compression=1')
      expect(unpackBlocks(zipped.bytes).toString()).to.equal('1\n')
      for (const [query, status, code] of [
        ['SELECT nothing', 404, 47],
        ['DROP TABLE events', 403, 497],
      ] as const) {
        const refused = await answer(query, '')
        expect(refused.status).to.equal(status)
        expect(unpackBlocks(refused.bytes).toString()).to.match(new RegExp(`^Code: ${code}\\.`))
      }
    })

    it('has the settings of a query from its own clause, too, which counts last', async () => {
      const decimals = 'SELECT sum(quantity) AS q FROM events WHERE currency IS NULL FORMAT JSONEachRow'
      expect(await read(decimals), 'text, as a number would be read as a double').to.equal('{"q":"7"}\n')
      const setting = 'SETTINGS output_format_json_quote_decimals'
      expect(await read(`${decimals} ${setting} = 0`)).to.equal('{"q":7}\n')
      expect(await read(`SELECT 1 AS q ${setting} = 1, max_threads = 3, extremes = 0`)).to.equal('1\n')
      const own = { output_format_json_quote_decimals: '1' }
      expect(await read(`${decimals} ${setting} = false`, own)).to.equal('{"q":7}\n')
      expect(await read("SELECT ' SETTINGS x = 1' AS q FORMAT CSV")).to.equal('" SETTINGS x = 1"\n')
      const { code, text } = await ask('SELECT 1 SETTINGS max_threads = 1, allow_ddl = 1')
      expect(code).to.equal(497)
      expect(text).to.contain('the setting allow_ddl cannot be changed by analysts')
    })

    it('refuses a body that is too large, also one that only grows so large when inflated', async () => {
      const large = ' '.repeat(10_000_000)
      for (const [body, headers] of [
        [large, {}],
        [gzipSync(large), { 'content-encoding': 'gzip' }],
      ] as const) {
        const response = await fetch(`${endpoint.url}/`, {
          method: 'POST',
          body,
          headers: { authorization: AUTHORIZATION, ...headers },
        })
        expect(response.status).to.equal(413)
        expect(await response.text()).to.match(/^Code: 229\./)
      }
      const broken = await ask('not gzip', {}, { 'content-encoding': 'gzip' })
      expect(broken.code).to.equal(354)
    })

    it('answers health checks without a password, and nothing else', async () => {
      for (const path of ['/ping', '/']) {
        const response = await get(path)
        expect([response.status, await response.text()]).to.deep.equal([200, 'Ok.\n'])
        expect((await fetch(`${endpoint.url}${path}`, { method: 'HEAD' })).status).to.equal(200)
      }
      for (const path of ['/play', '/dashboard', '/replicas_status', '//', '/?&', '/%00', '/ping/x'])
        expect((await get(path)).status).to.be.oneOf([200, 404])
      expect((await fetch(endpoint.url, { method: 'DELETE' })).status).to.equal(405)
      expect((await fetch(`${endpoint.url}/play`, { method: 'POST', body: 'SELECT 1' })).status).to.equal(404)
    })

    it('knows one database, which is theirs', async () => {
      expect(await read('SELECT currentDatabase()', { database: endpoint.database })).to.equal(
        `${endpoint.database}\n`,
      )
      expect(await read('SELECT currentDatabase()', { database: 'default' })).to.equal(
        `${endpoint.database}\n`,
      )
      for (const database of [clickhouse.database, 'system', 'nowhere'])
        expect((await ask('SELECT 1', { database })).code).to.equal(81)
      expect((await ask('SELECT 1', {}, { 'x-clickhouse-database': 'system' })).code).to.equal(81)
    })

    it('says where tables can be made', async () => {
      for (const statement of [
        'CREATE TABLE t (a Int8) ENGINE = Memory',
        'CREATE VIEW v AS SELECT 1',
        'DROP TABLE t',
      ]) {
        const { status, text } = await ask(statement)
        expect(status).to.equal(403)
        expect(text).to.contain(
          'analysts can only read; make tables in a workspace (of a ClickHouse server), or in DuckDB from exports: docs/guides/analysts.md#dbt',
        )
      }
    })

    it('says what it does not have', async () => {
      for (const url of [{ decompress: '1' }, { role: 'admin' }])
        expect((await ask('SELECT 1', url)).status).to.equal(501)
      expect(
        (await ask('SELECT 1', {}, { 'content-type': 'multipart/form-data; boundary=x' })).status,
      ).to.equal(501)
      expect((await ask('SELECT 1', { query_id: 'a\nb' })).status).to.equal(400)
    })
  })

  describe('@clickhouse/client', () => {
    it('works over HTTP', async () => {
      const client = createClient({
        url: endpoint.url,
        username: USER,
        password: PASSWORD,
        database: endpoint.database,
        compression: { response: true },
        log: { level: ClickHouseLogLevel.OFF },
        clickhouse_settings: { output_format_json_quote_decimals: 1, max_execution_time: 5 },
      })
      try {
        expect(await client.ping()).to.deep.equal({ success: true })
        expect(await client.ping({ select: true })).to.deep.equal({ success: true })
        const rows = await client.query({
          query:
            'SELECT quantity, properties FROM events WHERE currency = {currency:String} AND occurred_at IN {at:Array(UInt32)} ORDER BY quantity',
          query_params: { currency: 'usd', at: [1_767_225_600] },
          format: 'JSONEachRow',
        })
        expect((await rows.json<{ quantity: string }>()).map(({ quantity }) => quantity)).to.include('2.5')
        const missing = await client
          .query({ query: 'SELECT * FROM nowhere', format: 'JSON' })
          .catch((err: unknown) => err)
        expect(missing).to.include({ code: '60', type: 'UNKNOWN_TABLE' })
        const refused = await client.command({ query: 'DROP TABLE events' }).catch((err: unknown) => err)
        expect(refused).to.include({ code: '497', type: 'ACCESS_DENIED' })
      } finally {
        await client.close()
      }
    })
  })
})
