import { ClickHouseError, type ClickHouseSettings } from '@clickhouse/client'
import { expect } from 'chai'
import { type OpenedClickHouse, queryRows } from '../../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../../shared/clickhouse/events/usage-events.ts'
import { DomainError } from '../../../../shared/errors/domain-error.ts'
import { usageEventToLine } from '../../../../shared/usage-lines/log-line.ts'
import { createClickHouse } from '../../../support/clickhouse.ts'
import { failureOf } from '../../../support/failure-of.ts'
import { makeReport } from '../../../support/usage-event.ts'

/** More queries than the pool has connections. */
const MANY = 60

/** The longest wait for a connection. */
const WAIT_MS = 30_000

/** A query that returns some rows and then fails. */
const FAILS_LATE = "SELECT number, throwIf(number = 200000, 'late') FROM numbers(300000)"

describe('the pool of connections to the embedded ClickHouse', () => {
  let opened: OpenedClickHouse

  before(async () => {
    opened = await createClickHouse('pool')
  })
  after(() => opened.close())

  /** The first column of each row. */
  const read = async (
    query: string,
    params: Record<string, unknown> = {},
    settings: ClickHouseSettings = {},
  ): Promise<unknown[]> => {
    const result = await opened.client.query({
      query,
      query_params: params,
      clickhouse_settings: settings,
      format: 'JSONCompactEachRow',
    })
    return (await result.json<[unknown]>()).map(([value]) => value)
  }

  const many = <T>(work: (n: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: MANY }, (_, n) => work(n)))

  describe('parameters', () => {
    it('never mix, however many queries run at once', async () => {
      const answers = await many((n) =>
        n % 7 === 0
          ? failureOf(read('SELECT throwIf({n:UInt32} >= 0, {text:String})', { n, text: `fails ${n}` }))
          : read('SELECT concat({text:String}, toString(sum(number) + {n:UInt32})) FROM numbers(1000)', {
              n,
              text: `query ${n}: `,
            }),
      )
      answers.forEach((answer, n) => {
        if (n % 7 === 0) expect(answer).to.have.property('message').that.contains(`fails ${n}: `)
        else expect(answer).to.deep.equal([`query ${n}: ${499_500 + n}`])
      })
    })

    it('are those of the query alone: one that is forgotten is missing, and never that of an earlier query', async () => {
      await many((n) => read('SELECT {forgotten:UInt32}', { forgotten: n }))
      const failures = await many(() =>
        failureOf(read('SELECT {other:UInt32} + {forgotten:UInt32}', { other: 1 })),
      )
      for (const failure of failures)
        expect(failure).to.include({ code: '456', type: 'UNKNOWN_QUERY_PARAMETER' })
      expect(
        await read(`SELECT '{forgotten:UInt32}' AS "{forgotten:UInt32}" -- {forgotten:UInt32}`),
      ).to.deep.equal(['{forgotten:UInt32}'])
    })

    it('arrive as they are, whatever characters they hold', async () => {
      const texts = [
        '',
        "it's",
        '"quoted"',
        '`ticked`',
        '\\',
        "\\'",
        '\\n',
        '\\N',
        'NULL',
        ' a\tb\nc\rd\be\ff ',
        'a\0b',
        '\0',
        '😀 é 漢 \u2028',
        "'); DROP TABLE usage_events; --",
        '{other:String}',
        '%s ? $1 /* */ --',
        'x'.repeat(100_000),
      ]
      for (const text of texts)
        expect(await read('SELECT {text:String}', { text }), JSON.stringify(text)).to.deep.equal([text])
      const [list] = await read('SELECT {texts:Array(String)}', { texts })
      expect(list).to.deep.equal(texts)
      const [map] = await read('SELECT {map:Map(String, Nullable(String))}', {
        map: Object.fromEntries(texts.map((text) => [text, text === '' ? null : text])),
      })
      expect(map).to.deep.equal(Object.fromEntries(texts.map((text) => [text, text === '' ? null : text])))
      expect(await read('SELECT {none:Nullable(String)}', { none: null })).to.deep.equal([null])
    })
  })

  describe('settings', () => {
    const MAX_THREADS = "SELECT value FROM system.settings WHERE name = 'max_threads'"

    it('do not stay for the next query', async () => {
      const [usual] = await read(MAX_THREADS)
      const answers = await many((n) => read(MAX_THREADS, {}, n % 2 === 0 ? { max_threads: 100 + n } : {}))
      expect(answers).to.deep.equal(answers.map((_, n) => [n % 2 === 0 ? String(100 + n) : usual]))
    })

    it('do not stay after a query that failed, nor do those that could not be set', async () => {
      const [usual] = await read(MAX_THREADS)
      const failing: [query: string, settings: Record<string, string | number>, code: string][] = [
        [FAILS_LATE, { max_threads: 101 }, '395'],
        ['SELECT (', { max_threads: 102 }, '62'],
        ['SELECT 1', { max_threads: 103, no_such_setting: 1 }, '115'],
        ['SELECT 1', { max_threads: 104, max_block_size: 'many' }, '27'],
        ['SELECT number FROM numbers(1e9)', { max_execution_time: 0.1, max_result_rows: '1' }, '396'],
      ]
      for (const [query, settings, code] of failing) {
        const failures = await many(() => failureOf(read(query, {}, settings)))
        for (const failure of failures) expect(failure).to.include({ code })
        expect(await many(() => read(MAX_THREADS)), query).to.deep.equal(
          Array.from({ length: MANY }, () => [usual]),
        )
      }
      expect(await read('SELECT count() FROM numbers(100)')).to.deep.equal(['100'])
    })
  })

  it('never puts rows of a query that failed in front of the next answer', async () => {
    const failures: unknown[] = []
    const answers = await many(async (n) => {
      if (n % 3 === 0) failures.push(await failureOf(read(FAILS_LATE, {}, { max_block_size: '1000' })))
      return read('SELECT {n:UInt32}', { n })
    })
    expect(failures).to.have.length(MANY / 3)
    for (const failure of failures) expect(failure).to.include({ code: '395' })
    expect(answers).to.deep.equal(answers.map((_, n) => [n]))
  })

  it('tells errors as @clickhouse/client does, with their code and type', async () => {
    const cases: [query: string, params: Record<string, unknown>, code: string, type: string][] = [
      ['SELECT * FROM nowhere', {}, '60', 'UNKNOWN_TABLE'],
      ['SELECT nothing', {}, '47', 'UNKNOWN_IDENTIFIER'],
      ["SELECT toUInt8('a')", {}, '6', 'CANNOT_PARSE_TEXT'],
      ['SELECT {n:UInt32}', { n: 'a' }, '457', 'BAD_QUERY_PARAMETER'],
      [FAILS_LATE, {}, '395', 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'],
      ['INSERT INTO usage_events (nothing) VALUES (1)', {}, '16', 'NO_SUCH_COLUMN_IN_TABLE'],
    ]
    for (const [query, params, code, type] of cases) {
      const failure = await failureOf(opened.client.command({ query, query_params: params }))
      expect(failure, query).to.be.instanceOf(ClickHouseError).and.to.include({ code, type })
    }
    const insert = (table: string, values: object[]) =>
      failureOf(opened.client.insert({ table, values, format: 'JSONEachRow' }))
    expect(await insert('nowhere', [{ a: 1 }])).to.include({ code: '60', type: 'UNKNOWN_TABLE' })
    expect(await insert('usage_events', [{ quantity: 'much' }])).to.be.instanceOf(ClickHouseError)
  })

  it('tells who waits in too long a queue that it is overloaded', async function () {
    this.timeout(120_000)
    const startedAt = performance.now()
    const asked = Array.from({ length: 10_100 }, async () => {
      const failure = await failureOf(read('SELECT 1'))
      return failure === undefined ? [] : [{ failure, ms: performance.now() - startedAt }]
    })
    const failures = (await Promise.all(asked)).flat()
    // On a slow machine some waiting queries give up. The other failures are those beyond the largest number of waiting
    // queries.
    expect(failures.filter(({ ms }) => ms < WAIT_MS).length).to.be.within(1, 100)
    for (const { failure } of failures)
      expect(failure).to.be.instanceOf(DomainError).with.property('code', 'overloaded')
  })

  it('stores large buffers of lines whole', async function () {
    this.timeout(60_000)
    const properties = JSON.stringify({ text: "it's \\ 😀 ".repeat(200) })
    const reports = Array.from({ length: 20_000 }, (_, n) =>
      makeReport({ accountId: `account_${'f'.repeat(32)}`, quantity: `${n}.000000000000000001`, properties }),
    )
    const lines = Buffer.from(reports.map(usageEventToLine).join('\n'))
    expect(lines.length).to.be.greaterThan(40_000_000)
    await usageEventRepository(opened.client).insertLines(lines)
    const [row] = await queryRows(
      opened.client,
      `SELECT count() AS events, toString(sum(quantity)) AS sum, countIf(properties = {properties:String}) AS whole
      FROM usage_events WHERE account_id = {account:String}`,
      { properties, account: `account_${'f'.repeat(32)}` },
    )
    expect(row).to.deep.equal({ events: '20000', sum: '199990000.00000000000002', whole: '20000' })
  })

  it('answers nothing with nothing, and long answers whole', async () => {
    expect(await read('SELECT 1 WHERE 0')).to.deep.equal([])
    const long = await read('SELECT number FROM numbers(300000)')
    expect(long).to.have.length(300_000)
    expect(long.at(-1)).to.equal('299999')
  })

  it('does not hold up queries beside a slow one, all with parameters', async () => {
    const timed = async (work: Promise<unknown>) => {
      const startedAt = performance.now()
      await work
      return performance.now() - startedAt
    }
    const slow = timed(read('SELECT sleep({seconds:Float64})', { seconds: 2 }))
    const quick: number[] = []
    for (let n = 0; n < 20; n++) quick.push(await timed(read('SELECT {n:UInt32}', { n })))
    quick.sort((a, b) => a - b)
    expect(quick[10]).to.be.lessThan((await slow) / 10)
  })
})
