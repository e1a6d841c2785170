import { expect } from 'chai'
import { parseAmount } from '../../../shared/amount/amount.ts'
import { formatRatio } from '../../../shared/amount/ratio.ts'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { invoiceLineQuery } from '../../../shared/clickhouse/usage/invoice-line-query.ts'
import { propertyToken } from '../../../shared/clickhouse/usage/property-token.ts'
import { ratedUsageReader } from '../../../shared/clickhouse/usage/rated-usage.ts'
import { rawReadSemaphore } from '../../../shared/clickhouse/usage/raw-read-semaphore.ts'
import {
  type MeasuredUsage,
  mergeUsage,
  quantityOf,
  usageOfEvent,
} from '../../../shared/domain/billing/aggregate.ts'
import { groupOf } from '../../../shared/domain/billing/matches.ts'
import { namedValues } from '../../../shared/domain/billing/named-values.ts'
import type { Rate } from '../../../shared/domain/billing/rate.ts'
import { type Properties, propertyPairs, propertyText } from '../../../shared/domain/properties.ts'
import type { Aggregation } from '../../../shared/domain/usage-aggregate.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { type AnalystEndpoint, startAnalysts } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { ACCOUNT, makeCorrection, makeReport, NAMESPACE } from '../../support/usage-event.ts'
import { UsageRows } from '../../support/usage-rows.ts'

const AGGREGATIONS: readonly Aggregation[] = ['sum', 'count', 'min', 'max', 'avg', 'latest']
const METRIC = `metric_${'c'.repeat(32)}`
const [START, END] = [1_767_225_600, 1_767_312_000]
const LARGEST = '99999999999999999999.999999999999999999'
const CRUMB = '0.000000000000000001'

const LONG = '𝛼'.repeat(500)
const TEXTS = [
  ...['1', '1.0', '1e3', '1000', '1e21', '1e+21', '-0', '0', 'true', 'null', ' a ', 'a=b', '='],
  ...[
    "it's",
    "''",
    '"quoted"',
    'back\\slash',
    '\\',
    '\\n',
    "\\'",
    'line\nbreak',
    'tab\there',
    '\r',
    '\u0001\u001f\u007f',
  ],
  ...[
    'é',
    'e\u0301',
    '漢字',
    '🙂',
    '\u2028',
    '\u00a0',
    '%',
    '_',
    '{value:String}',
    '{{',
    '[]',
    '`',
    '$$',
    '--',
    '/*',
    '*/',
  ],
  ...[
    "') OR 1 = 1 --",
    "x'); DROP TABLE events; --",
    LONG,
    "'".repeat(500),
    '\\'.repeat(500),
    '\n'.repeat(500),
  ],
]
/** Numbers that a gateway accepts, because a double holds all their digits. */
const NUMBERS = [1, 1000, 1e20, 1e21, 18446744073709552000, -9223372036854776000, 1e-7, 0.1, -0.5, 5e-324, -0]
const OTHERS = [true, false, null, '', `${LONG}𝛼`, ['1'], { v: '1' }, {}]

describe('the query of an invoice line', function () {
  this.timeout(120_000)
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  const rows = new UsageRows()

  before(async () => {
    clickhouse = await createClickHouse('line_query')
    endpoint = await startAnalysts(clickhouse)
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  const store = async (...events: readonly UsageEvent[]) => {
    await usageEventRepository(clickhouse.client).insertLines(
      Buffer.from(events.map(usageEventToLine).join('\n')),
    )
    rows.store(events)
  }

  /**
   * Compares the results of the analysts' query, the reader and a plain loop over the events, for each value of a rate.
   */
  async function compare(rate: Rate, asOf = END, range = { startAt: START, endAt: END }): Promise<string[]> {
    const { source } = rate
    const counted = { startAt: range.startAt, endAt: Math.min(range.endAt, asOf) }
    const read = await ratedUsageReader(clickhouse.client, rawReadSemaphore()).read(NAMESPACE, {
      contract: { accountId: ACCOUNT, currency: 'eur' },
      creditBefore: 0,
      usage: { ranges: [{ piece: 0, ...counted }], named: namedValues([rate]) },
    })
    const events = rows
      .counting(NAMESPACE)
      .filter(
        (one) =>
          one.accountId === ACCOUNT &&
          one.source === source &&
          one.occurredAt >= counted.startAt &&
          one.occurredAt < counted.endAt,
      )
      .map((one) => ({
        source: one.source,
        properties: JSON.parse(one.properties) as Properties,
        usage: usageOfEvent({ ...one, quantity: parseAmount(one.quantity) }),
      }))
    const values = [...rate.prices.map(({ value }) => value), ...(rate.priceId === null ? [] : [null])]
    const answers: string[] = []
    for (const value of values) {
      const quantityBy = (all: readonly { source: string; properties: Properties; usage: MeasuredUsage }[]) =>
        formatRatio(
          quantityOf(
            all
              .filter((one) => groupOf(rate, one) === value)
              .map(({ usage }) => usage)
              .reduce<MeasuredUsage | undefined>((sum, one) => (sum ? mergeUsage(sum, one) : one), undefined),
            rate.aggregation,
          ),
        )
      const account = { namespaceId: NAMESPACE, accountId: ACCOUNT }
      const query = invoiceLineQuery(account, { rate, value, ...range }, asOf) ?? ''
      const { status, text } = await endpoint.ask(query)
      expect(status, `${query}\n${text}`).to.equal(200)
      const expected = quantityBy(events)
      expect([text.trimEnd(), quantityBy(read.usage.get(0) ?? [])], query).to.deep.equal([expected, expected])
      answers.push(expected)
    }
    return answers
  }

  it('finds what the reader finds, whatever values properties have', async () => {
    const values = [...TEXTS, ...NUMBERS, ...OTHERS]
    await store(
      ...values.map((v, n) => reportOf({ v }, { quantity: String(2 ** (n % 50)) })),
      // ClickHouse cannot read JSON with whole numbers of more than 64 bits.
      ...NUMBERS.map((n) => reportOf({ n, v: 'a=b' })),
      reportOf({ o: { v: '1' }, l: [{ v: '1' }] }),
      reportOf({}),
    )
    const listed = [...new Set(values.map(propertyText).filter((text) => text !== undefined))]
    const byValue = await compare(rateOf({ groupBy: 'v', prices: pricesOf(listed), priceId: 'rest' }))
    expect(byValue.filter((quantity) => quantity === '0')).to.deep.equal([])
    expect(await compare(rateOf({ aggregation: 'count', priceId: 'all' }))).to.deep.equal([
      String(values.length + NUMBERS.length + 2),
    ])
    for (const some of [TEXTS.slice(0, 5), TEXTS.slice(5)])
      await compare(rateOf({ filters: [{ property: 'v', values: some }], priceId: 'all' }))
    await compare(
      rateOf({
        filters: [{ property: 'v', values: ['a=b'] }],
        groupBy: 'n',
        prices: pricesOf(['1e+21', '100000000000000000000']),
        priceId: 'rest',
      }),
    )
  })

  it('takes names that every object has, and tokens that end with zero bytes', async () => {
    const source = `metric_${'d'.repeat(32)}`
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
    const trap = (ending: string): string => {
      for (let n = 0; ; n++) if (propertyToken('v', `m${n}`).endsWith(ending)) return `m${n}`
    }
    const traps = [trap('00'), trap('0000')]
    await store(
      ...names.map((name) => reportOf(JSON.parse(`{"${name}":"x"}`) as Properties, { source })),
      ...traps.map((v) => reportOf({ v }, { source })),
      reportOf({}, { source }),
    )
    for (const name of names)
      expect(
        await compare(rateOf({ source, groupBy: name, prices: pricesOf(['x']), priceId: 'rest' })),
      ).to.deep.equal(['1', String(names.length - 1 + traps.length + 1)])
    expect(
      await compare(rateOf({ source, groupBy: 'v', prices: pricesOf(traps), priceId: 'rest' })),
    ).to.deep.equal(['1', '1', '5'])
  })

  it('measures in all six ways, to the last digit, and 0 of nothing', async () => {
    const source = 'usd'
    const sets: Record<string, string[]> = {
      down: ['0', CRUMB],
      up: [CRUMB, '0.000000000000000002'],
      below: ['0', `-${CRUMB}`],
      under: [`-${CRUMB}`, '-0.000000000000000002'],
      thirds: ['1', '1', '2'],
      most: [LARGEST, LARGEST, LARGEST, CRUMB],
      least: [`-${LARGEST}`, `-${LARGEST}`, '1'],
    }
    for (const [set, quantities] of Object.entries(sets))
      for (const [n, quantity] of quantities.entries())
        await store(
          reportOf(
            { set },
            // Events are accepted in another order than they occurred, some at the same time.
            { source, quantity, occurredAt: START + (n % 2), acceptedAt: 9e14 - (n >> 1) },
          ),
        )
    for (const aggregation of AGGREGATIONS)
      await compare(
        rateOf({
          source,
          aggregation,
          groupBy: 'set',
          prices: pricesOf([...Object.keys(sets), 'none']),
          priceId: 'rest',
        }),
      )
  })

  it('counts what counts now, of this account, source and time alone', async () => {
    const source = `metric_${'e'.repeat(32)}`
    const report = (fields: Partial<UsageEvent>) => ({ ...makeReport({ source, quantity: '1', ...fields }) })
    const [voided, amended] = [report({ occurredAt: START }), report({ occurredAt: START })]
    await store(
      report({ occurredAt: START - 1 }),
      report({ occurredAt: START, quantity: '10' }),
      report({ occurredAt: END - 1, quantity: '100' }),
      report({ occurredAt: END }),
      report({ occurredAt: START, accountId: `account_${'f'.repeat(32)}` }),
      report({ occurredAt: START, namespaceId: '018cc251-f400-7000-8000-000000000002' }),
      voided,
      makeCorrection(voided, { voided: true }),
      amended,
      makeCorrection(amended, { quantity: '1000', properties: '{"v":"x"}', propertyPairs: ['v=x'] }),
    )
    expect(await compare(rateOf({ source, priceId: 'all' }))).to.deep.equal(['1110'])
    expect(await compare(rateOf({ source, priceId: 'all' }), END - 1)).to.deep.equal(['1010'])
    expect(await compare(rateOf({ source, priceId: 'all' }), START - 10)).to.deep.equal(['0'])
    expect(
      await compare(rateOf({ source, groupBy: 'v', prices: pricesOf(['x']), priceId: 'rest' })),
    ).to.deep.equal(['1000', '110'])
  })

  it('is one that analysts may send, however many and long the values are', async () => {
    const long = (n: number) => `${n}${'𝛼'.repeat(497)}`
    const many = (from: number, count: number) => Array.from({ length: count }, (_, n) => long(from + n))
    const filters = Array.from({ length: 5 }, (_, n) => ({ property: `f${n}`, values: many(100, 100) }))
    const prices = pricesOf(many(100, 500))
    const source = `metric_${'f'.repeat(32)}`
    const passing = Object.fromEntries(filters.map(({ property }, n) => [property, long(100 + n)]))
    await store(
      reportOf({ ...passing, v: long(599) }, { source, quantity: '2' }),
      reportOf({ ...passing, v: 'other' }, { source, quantity: '3' }),
      reportOf({ v: 'other' }, { source, quantity: '5' }),
    )
    const answers = await compare(
      rateOf({ source, filters, groupBy: 'v', prices: prices.slice(-2), priceId: 'rest' }),
    )
    expect(answers).to.deep.equal(['0', '2', '3'])
    const query = invoiceLineQuery(
      { namespaceId: NAMESPACE, accountId: ACCOUNT },
      {
        rate: rateOf({ source, filters, groupBy: 'v', prices, priceId: 'rest' }),
        value: null,
        startAt: START,
        endAt: END,
      },
      END,
    )
    const { status, text } = await endpoint.ask(query ?? '')
    expect([status, text]).to.deep.equal([200, '3\n'])
  })

  it('is none for what is not measured', () => {
    const account = { namespaceId: NAMESPACE, accountId: ACCOUNT }
    const times = { value: null, startAt: START, endAt: END }
    expect(invoiceLineQuery(account, { rate: null, ...times }, END)).to.equal(undefined)
    expect(invoiceLineQuery(account, { rate: rateOf({ source: null }), ...times }, END)).to.equal(undefined)
  })

  it('is lines that one can read', () => {
    const rate = rateOf({
      filters: [{ property: 'region', values: ["Côte d'Azur", 'a\nb'] }],
      ...{ groupBy: 'model', prices: pricesOf(['large']), priceId: 'rest' },
    })
    const account = { namespaceId: NAMESPACE, accountId: ACCOUNT }
    expect(invoiceLineQuery(account, { rate, value: null, startAt: START, endAt: END }, END - 60)).to.equal(
      `SELECT sum(quantity)
FROM events
WHERE namespace_id = '${NAMESPACE}'
  AND account_id = '${ACCOUNT}'
  AND metric_id = '${METRIC}'
  AND occurred_at >= toDateTime('2026-01-01 00:00:00', 'UTC')
  AND occurred_at < toDateTime('2026-01-01 23:59:00', 'UTC')
  AND (has(property_tokens, toFixedString(substring(SHA256('region=Côte d\\'Azur'), 1, 12), 12)) OR has(property_tokens, toFixedString(substring(SHA256('region=a\\x0ab'), 1, 12), 12)))
  AND NOT (has(property_tokens, toFixedString(substring(SHA256('model=large'), 1, 12), 12)))`,
    )
  })
})

const rateOf = (some: Partial<Rate>): Rate => ({
  id: 'rate',
  startsAt: 0,
  endsAt: null,
  source: METRIC,
  aggregation: 'sum',
  filters: [],
  groupBy: null,
  prices: [],
  priceId: null,
  ...some,
})

const pricesOf = (values: readonly string[]): Rate['prices'] =>
  values.map((value) => ({ value, priceId: 'price' }))

const reportOf = (properties: Properties, fields: Partial<UsageEvent> = {}): UsageEvent =>
  makeReport({
    source: METRIC,
    occurredAt: START + 5,
    properties: JSON.stringify(properties),
    propertyPairs: propertyPairs(properties),
    ...fields,
  })
