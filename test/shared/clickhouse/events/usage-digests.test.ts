import { expect } from 'chai'
import fc from 'fast-check'
import type { OpenedClickHouse } from '../../../../shared/clickhouse/clickhouse.ts'
import { DIGEST_ROW, usageDigestRepository } from '../../../../shared/clickhouse/events/usage-digests.ts'
import { usageEventRepository } from '../../../../shared/clickhouse/events/usage-events.ts'
import { propertyPairs } from '../../../../shared/domain/properties.ts'
import type { UsageEvent } from '../../../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../../../shared/usage-lines/log-line.ts'
import { digestOfLogLine } from '../../../../shared/usage-lines/log-line-digest.ts'
import { createClickHouse } from '../../../support/clickhouse.ts'
import { makeCorrection, makeReport, NAMESPACE } from '../../../support/usage-event.ts'

const lineOf = (event: UsageEvent): Buffer => Buffer.from(usageEventToLine(event))
const SECOND = 1_767_225_600

/** Events with all kinds of properties and quantities. */
const reports = fc
  .array(
    fc.record({
      properties: fc.dictionary(
        fc.string({ unit: 'binary', maxLength: 12 }).filter((text) => text.isWellFormed()),
        fc.oneof(
          fc.string({ unit: 'binary', maxLength: 40 }).filter((text) => text.isWellFormed()),
          fc.integer(),
          fc.constantFrom(true, null, 'a],"b', '],"', ',"property_pairs":[', '/\\\u2028\u0007"', [
            'x',
            { property_pairs: ['y'] },
          ]),
        ),
        { maxKeys: 5 },
      ),
      quantity: fc.constantFrom(
        '0',
        '1',
        '-1',
        '0.000000000000000001',
        '99999999999999999999.999999999999999999',
        '2.5',
        '-10',
      ),
      source: fc.constantFrom('usd', `metric_${'1'.repeat(32)}`),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((all) =>
    all.map(({ properties, ...rest }) =>
      makeReport({
        ...rest,
        properties: JSON.stringify(properties),
        propertyPairs: propertyPairs(properties),
      }),
    ),
  )

describe('digests of usage', function () {
  this.timeout(120_000)
  let clickhouse: OpenedClickHouse

  before(async () => {
    clickhouse = await createClickHouse('digests')
  })
  after(() => clickhouse.close())

  /**
   * Reads these events from ClickHouse, by id: digest, version, time of acceptance, and whether it is a plain report.
   */
  const readAll = async (ids: readonly string[]) => {
    const rows = await usageDigestRepository(clickhouse.client).listOfIds(NAMESPACE, [SECOND], ids)
    const found = new Map<string, unknown[]>()
    for (let at = 0; at < rows.length; at += DIGEST_ROW.bytes)
      found.set(rows.toString('hex', at, at + 16), [
        rows.toString('hex', at + DIGEST_ROW.digest, at + DIGEST_ROW.bytes),
        rows.readBigUInt64LE(at + DIGEST_ROW.version),
        Number(rows.readBigInt64LE(at + DIGEST_ROW.acceptedAt)),
        rows[at + DIGEST_ROW.isReport],
      ])
    return found
  }

  it('are the same of a line and of the row it was loaded into, whatever the properties hold', async () => {
    const events = usageEventRepository(clickhouse.client)
    let odd = 0
    let all = 0
    await fc.assert(
      fc.asyncProperty(reports, async (some) => {
        await events.insertLines(Buffer.from(some.map(usageEventToLine).join('\n')))
        const found = await readAll(some.map(({ id }) => id.slice(6)))
        for (const event of some) {
          const digest = digestOfLogLine(lineOf(event))
          all++
          if (digest === undefined) odd++
          else
            expect(found.get(digest.id), usageEventToLine(event)).to.deep.equal([
              digest.digest,
              event.version,
              event.acceptedAt,
              1,
            ])
        }
      }),
      { numRuns: 30 },
    )
    expect(odd / all, 'the part that is left to be read as JSON').to.be.below(0.5)
  })

  it('differ when anything differs that is counted', () => {
    const report = makeReport({ properties: '{"a":"1"}', propertyPairs: ['a=1'] })
    const { id, version } = report
    const others: Partial<UsageEvent>[] = [
      { quantity: '2' },
      { properties: '{"a":"2"}' },
      { accountId: `account_${'b'.repeat(32)}` },
      { source: 'eur' },
      { occurredAt: report.occurredAt + 1 },
      { namespaceId: NAMESPACE.replace('018', '019') },
      { id: `event_${id.slice(6, 14)}${'ab'.repeat(12)}` },
    ]
    const digest = digestOfLogLine(lineOf(report))
    for (const other of others)
      expect(
        digestOfLogLine(lineOf({ ...report, ...other, version }))?.digest,
        JSON.stringify(other),
      ).not.to.equal(digest?.digest)
  })

  it('tell a correction from a report', async () => {
    const report = makeReport()
    const correction = makeCorrection(report, { quantity: '2' })
    expect(digestOfLogLine(lineOf(correction))).to.equal(undefined)
    await usageEventRepository(clickhouse.client).insertLines(lineOf(correction))
    expect((await readAll([report.id.slice(6)])).get(report.id.slice(6))?.[3]).to.equal(0)
  })

  it('are none of what is not written as our lines are', () => {
    const line = usageEventToLine(makeReport({ propertyPairs: ['a=1'] }))
    const hostile = line.replace('["a=1"]', '["a=1"],"quantity":"9","x":["b"]')
    for (const text of [
      hostile,
      '',
      '{}',
      `\u00ff${line}`,
      line.slice(0, -1),
      line.replace('"voided":0', '"voided":1'),
    ])
      expect(digestOfLogLine(Buffer.from(text)), text).to.equal(undefined)
  })
})
