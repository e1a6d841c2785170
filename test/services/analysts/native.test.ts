import { Readable } from 'node:stream'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  nativeForRevision,
  nativePartsForRevision,
} from '../../../services/analysts/native/native-for-revision.ts'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { ChdbSession } from '../../../shared/clickhouse/embedded/chdb-session.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { type NativeAnswer, readNative } from './native-reader.ts'

/** From 54,454 on each column has a flag. */
const REVISIONS = [1, 54_453, 54_454, 54_483]
const WITH_FLAGS = 54_454

const PLAIN =
  `Bool Int8 Int16 Int32 Int64 Int128 Int256 UInt8 UInt16 UInt32 UInt64 UInt128 UInt256 Float32 Float64
  Decimal(9,2) Decimal(18,4) Decimal(38,18) Decimal(76,18) String FixedString(5) Date Date32 DateTime DateTime('Asia/Tokyo')
  DateTime64(3) DateTime64(6,'UTC') UUID IPv4 IPv6 Enum8('a'=1,'b,('=-2) Enum16('it\\'s'=1,'Tuple('=1000)`
    .trim()
    .split(/\s+/)
/** What a dictionary can be made of. */
const IN_DICTIONARY = ['String', 'FixedString(5)', 'UInt8', 'Int64', 'Date', 'DateTime', 'UUID']

const plain = fc.constantFrom(...PLAIN)
const inDictionary = fc.constantFrom(...IN_DICTIONARY)
const { type } = fc.letrec<{ type: string }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    plain,
    plain.map((inner) => `Nullable(${inner})`),
    inDictionary.map((inner) => `LowCardinality(${inner})`),
    inDictionary.map((inner) => `LowCardinality(Nullable(${inner}))`),
    tie('type').map((inner) => `Array(${inner})`),
    fc.array(tie('type'), { minLength: 1, maxLength: 3 }).map((inner) => `Tuple(${inner.join(', ')})`),
    tie('type').map((inner) => `Tuple(a ${inner}, \`b, (c\` ${inner})`),
    fc
      .tuple(fc.constantFrom('String', 'UInt32', 'LowCardinality(String)', 'UUID'), tie('type'))
      .map(([key, value]) => `Map(${key}, ${value})`),
  ),
}))

describe('the format Native for clients of the protocol', function () {
  this.timeout(60_000)
  let clickhouse: OpenedClickHouse
  let session: ChdbSession

  before(async () => {
    clickhouse = await createClickHouse('native')
    const { engine } = clickhouse
    if (engine === undefined) throw new Error('not embedded')
    session = await ChdbSession.open({
      ...engine,
      setup: 'SET max_threads = 1, enable_time_time64_type = 1, allow_suspicious_low_cardinality_types = 1',
    })
  })
  after(async () => {
    session.close()
    await clickhouse.close()
  })

  const run = async (query: string, format: string): Promise<Uint8Array> =>
    (await session.run({ text: query, settings: {}, format })).bytes()

  /** What a client reads, which must be what the engine writes row by row. */
  const readBoth = async (query: string): Promise<NativeAnswer> => {
    const bytes = await run(query, 'Native')
    const rows = Buffer.from(await run(query, 'RowBinary'))
    expect(nativeForRevision(bytes, 0)).to.equal(bytes)
    const [answer] = REVISIONS.toReversed().map((revision) => {
      const read = readNative(nativeForRevision(bytes, revision), revision >= WITH_FLAGS)
      expect(read.rowBinary.equals(rows), `${query} at revision ${revision}`).to.equal(true)
      return read
    })
    if (answer === undefined) throw new Error('no answer')
    return answer
  }

  const randomRows = (types: readonly string[], rows: number): string => {
    const structure = types
      .map((text, i) => `c${i} ${text}`)
      .join(', ')
      .replaceAll(/[\\']/g, '\\$&')
    return `SELECT * FROM generateRandom('${structure}', 7, 12, 4) LIMIT ${rows}`
  }

  it('holds every type that has one form', async () => {
    const types = [
      ...PLAIN.flatMap((inner) => [inner, `Nullable(${inner})`, `Array(${inner})`]),
      ...IN_DICTIONARY.flatMap((inner) => [
        `LowCardinality(${inner})`,
        `LowCardinality(Nullable(${inner}))`,
        `Array(LowCardinality(${inner}))`,
      ]),
    ]
    for (const one of types) {
      const { blockRows } = await readBoth(randomRows([one], 50))
      expect(blockRows, one).to.deep.equal([50])
    }
    const { columns } = await readBoth(randomRows(types, 20))
    expect(columns).to.have.length(types.length)
  })

  it('holds them nested in any way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(type, { minLength: 1, maxLength: 4 }), async (types) => {
        await readBoth(randomRows(types, 15))
      }),
      { numRuns: 300 },
    )
  })

  it('holds what expressions give: intervals, nulls without a type, empty arrays, names of any kind', async () => {
    const { columns } = await readBoth(`SELECT INTERVAL number MONTH AS i, NULL AS n, [] AS e, [NULL] AS a,
      map() AS m, [[], [number]] AS nested, CAST((number, 'x'), 'Tuple(\`a b\` UInt8, c String)') AS t,
      1.5::BFloat16 AS b, '01:02:03'::Time AS c, '01:02:03.4'::Time64(6) AS d, number AS "it's (,) 😀" FROM numbers(3)`)
    expect(columns.at(-1)?.name).to.equal("it's (,) 😀")
  })

  it('holds several blocks, with dictionaries of any size', async () => {
    for (const values of [300, 70_000]) {
      const { blockRows } = await readBoth(`SELECT number, toLowCardinality(toString(number)) AS large,
        [toLowCardinality(toString(number % 7))] AS small, toNullable(toString(number)) AS text
        FROM numbers(${values + 100}) SETTINGS max_block_size = ${values}`)
      expect(blockRows).to.deep.equal([values, 100])
    }
  })

  it('holds several blocks, wherever the parts of an answer end', async () => {
    const bytes = await run(
      'SELECT number, toLowCardinality(toString(number % 50)) AS small, [toString(number)] AS texts FROM numbers(5000) SETTINGS max_block_size = 400',
      'Native',
    )
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(0, ...REVISIONS),
        fc.array(fc.nat({ max: bytes.length }), { maxLength: 40 }),
        async (revision, cuts) => {
          const ends = [...cuts.toSorted((a, b) => a - b), bytes.length]
          const parts = ends.map((end, nth) => bytes.subarray(ends[nth - 1] ?? 0, end))
          const rewritten: Uint8Array[] = []
          for await (const part of nativePartsForRevision(Readable.from(parts), revision))
            rewritten.push(part)
          expect(Buffer.concat(rewritten).equals(nativeForRevision(bytes, revision))).to.equal(true)
        },
      ),
      { numRuns: 100 },
    )
  })

  it('holds nothing, and the events of an empty database', async () => {
    for (const query of [
      'SELECT 1 WHERE 0',
      "SELECT toLowCardinality('a') AS a, [1], map(1, 2), NULL LIMIT 0",
      `SELECT * FROM ${clickhouse.database}_analytics.events`,
      `SELECT * FROM ${clickhouse.database}_analytics.daily_usage`,
    ])
      expect((await readBoth(query)).rowBinary.length).to.equal(0)
  })

  it('refuses types that are written in several ways, and says what to do', async () => {
    for (const [value, name] of [
      [`'{"a":1}'::JSON`, 'JSON'],
      ['1::Dynamic', 'Dynamic'],
      ['1::Variant(UInt8, String)', 'Variant'],
      ['[1::Dynamic]', 'Dynamic'],
      ['sumState(1)', 'AggregateFunction'],
      ['(1.0, 2.0)::Point', 'Point'],
    ] as const) {
      const bytes = await run(`SELECT ${value} AS a`, 'Native')
      expect(() => nativeForRevision(bytes, WITH_FLAGS), value)
        .to.throw(new RegExp(`not supported for the type ${name}.*toString`))
        .with.property('type', 'NOT_IMPLEMENTED')
    }
  })

  it('is refused when it is cut off, and never read past its end', async () => {
    const bytes = await run(randomRows(['String', 'Array(UInt32)', 'LowCardinality(String)'], 3), 'Native')
    for (let length = 1; length < bytes.length; length++)
      expect(() => nativeForRevision(bytes.subarray(0, length), WITH_FLAGS), `${length} bytes`).to.throw(
        RangeError,
      )
  })
})
