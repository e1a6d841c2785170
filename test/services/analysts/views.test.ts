import { hash } from 'node:crypto'
import { expect } from 'chai'
import { type OpenedClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { DAY_S } from '../../../shared/domain/time-range.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { type AnalystEndpoint, startAnalysts } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { ACCOUNT, makeReport, NAMESPACE } from '../../support/usage-event.ts'

const COLUMNS = 'namespace_id, day, account_id, metric_id, currency, quantity, events'
const FROM_VIEW = `SELECT ${COLUMNS} FROM daily_usage ORDER BY ALL`
const FROM_EVENTS = `
  SELECT namespace_id, toDate(occurred_at) AS day, account_id, metric_id, currency, sum(e.quantity) AS quantity, count() AS events
  FROM events AS e GROUP BY namespace_id, day, account_id, metric_id, currency ORDER BY ALL`
const TOTALS = `
  SELECT namespace_id, day, metric_id, currency, quantity, events FROM daily_totals ORDER BY ALL`
const TOTALS_OF_DAYS = `
  SELECT namespace_id, day, metric_id, currency, sum(d.quantity) AS quantity, sum(d.events) AS events
  FROM daily_usage AS d GROUP BY namespace_id, day, metric_id, currency ORDER BY ALL`
/** The largest that the API takes. */
const LARGEST = '99999999999999999999.999999999999999999'

describe('the views of analysts', () => {
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  const today = Math.floor(Date.now() / 1_000 / DAY_S) * DAY_S
  const insert = (daysAgo: number, quantity: string, source = 'usd', accountId = ACCOUNT) =>
    usageEventRepository(clickhouse.client).insertLines(
      Buffer.from(
        usageEventToLine(
          makeReport({
            quantity,
            source,
            accountId,
            occurredAt: today - daysAgo * DAY_S,
            properties: '{"model":"large"}',
            propertyPairs: ['model=large'],
          }),
        ),
      ),
    )
  const read = async (query: string, url: Record<string, string> = {}) => {
    const { status, text } = await endpoint.ask(query, url)
    expect(status, text).to.equal(200)
    return text
  }
  const requireEqual = async () => {
    const expected = await read(FROM_EVENTS)
    expect(await read(FROM_VIEW)).to.equal(expected)
    expect(await read(FROM_VIEW, { join_use_nulls: '1' })).to.equal(expected)
    expect(await read(TOTALS)).to.equal(await read(TOTALS_OF_DAYS))
    return expected
  }
  const mark = (daysAgo: number, change: number) =>
    clickhouse.client.command({
      query: `INSERT INTO usage_dirty_slots VALUES
        ({namespaceId:String}, 'account_of_somebody', 0, toDateTime({slot:UInt32}, 'UTC'), 7, 1, now(), {change:Int64})`,
      query_params: { namespaceId: NAMESPACE, slot: today - daysAgo * DAY_S + 300, change },
    })

  before(async () => {
    clickhouse = await createClickHouse('views')
    endpoint = await startAnalysts(clickhouse)
    for (const daysAgo of [40, 3, 2, 0])
      for (const source of ['usd', `metric_${'b'.repeat(32)}`])
        await insert(daysAgo, '1.000000000000000001', source)
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  it('say the same by day as by event before there are rollups', async () => {
    expect((await requireEqual()).trim().split('\n')).to.have.length(8)
  })

  it('take days that are closed and unmarked from their rollups, all others from the events', async () => {
    const { client } = clickhouse
    const epochs = rollupEpochRepository(client)
    const signal = new AbortController().signal
    const tables = rollupTables(client, 60)
    await buildEpoch({ client, epochs, tables, reached: () => undefined, signal }, 3_600)
    await requireEqual()
    // Usage without a mark is not in the answer yet, as in the API, because rollups are read.
    await insert(3, '5')
    const late = await read(FROM_EVENTS)
    expect(await read(FROM_VIEW)).to.not.equal(late)
    await mark(3, 1)
    expect(await requireEqual()).to.equal(late)
    // A cancelled mark has no effect.
    await mark(3, -1)
    expect(await read(FROM_VIEW)).to.not.equal(late)
    await mark(3, 1)
    await insert(0, '7')
    await requireEqual()
  })

  it('find a property by the index of its token', async () => {
    const tokens = (value: string) => [
      `toFixedString(substring(SHA256('model=${value}'), 1, 12), 12)`,
      `property('model', '${value}')`,
    ]
    for (const [here, none] of [
      [tokens('large')[0], tokens('none')[0]],
      [tokens('large')[1], tokens('none')[1]],
    ]) {
      expect(await read(`SELECT count() FROM events WHERE has(property_tokens, ${here})`)).to.equal('10\n')
      expect(await read(`SELECT count() FROM events WHERE has(property_tokens, ${none})`)).to.equal('0\n')
      const plan = await queryRows<{ explain: string }>(
        clickhouse.client,
        `EXPLAIN indexes = 1 SELECT count() FROM ${endpoint.database}.events WHERE has(property_tokens, ${none})`,
        {},
      )
      expect(plan.map(({ explain }) => explain).join('\n')).to.include('property_tokens_text')
    }
  })

  it('have a function for tokens that takes text, numbers and booleans, and looks for one value at a time', async () => {
    const tokenOf = (pair: string) => hash('sha256', pair, 'hex').slice(0, 24)
    for (const [call, pair] of [
      ["property('gen_ai.request.model', 'a=b')", 'gen_ai.request.model=a=b'],
      ["property('tries', 3)", 'tries=3'],
      ["property('share', 0.5)", 'share=0.5'],
      ["property('is_test', true)", 'is_test=true'],
    ])
      expect(await read(`SELECT lower(hex(${call}))`), call).to.equal(`${tokenOf(pair ?? '')}\n`)
    const { code } = await endpoint.ask(
      "SELECT count() FROM events WHERE has(property_tokens, property('model', account_id))",
    )
    expect(code).to.equal(497)
  })

  it('give tokens as bytes that break no JSON', async () => {
    JSON.parse(await read('SELECT * FROM events FORMAT JSON'))
    expect(await read('SELECT DISTINCT hex(property_tokens[1]) FROM events')).to.match(/^[0-9A-F]{24}\n$/)
  })

  it('have quantities in a narrower type that is exact, or an error when they do not fit', async () => {
    const mine = `account_${'d'.repeat(32)}`
    for (const daysAgo of [5, 5, 6]) await insert(daysAgo, LARGEST, 'usd', mine)
    for (const daysAgo of [5, 6]) await mark(daysAgo, 1)
    const where = `WHERE account_id = '${mine}'`
    expect(await read(`SELECT DISTINCT quantity, quantity_38 FROM events ${where}`)).to.equal(
      `${LARGEST}\t${LARGEST}\n`,
    )
    expect(await read(`SELECT sum(quantity) FROM events ${where}`)).to.equal(
      '299999999999999999999.999999999999999997\n',
    )
    const fits = await read(`SELECT quantity_38 FROM daily_usage ${where} AND day = today() - 6`)
    expect(fits).to.equal(`${LARGEST}\n`)
    const tooLarge = [
      `SELECT toDecimal128(sum(quantity), 18) FROM events ${where}`,
      `SELECT quantity_38 FROM daily_usage ${where} AND day = today() - 5`,
      "SELECT quantity_38 FROM daily_totals WHERE currency = 'usd' AND day = today() - 5",
    ]
    for (const query of tooLarge) expect((await endpoint.ask(query)).code, query).to.equal(407)
    for (const view of ['daily_usage', 'daily_totals'])
      expect(
        await read(`SELECT quantity FROM ${view} WHERE currency = 'usd' AND day = today() - 5`),
      ).to.equal('199999999999999999999.999999999999999998\n')
  })
})
