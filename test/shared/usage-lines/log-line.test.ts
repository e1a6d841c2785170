import { expect } from 'chai'
import fc from 'fast-check'
import { checkProperties, type Properties, propertyPairs } from '../../../shared/domain/properties.ts'
import {
  contentOf,
  reportVersion,
  type UsageEvent,
  usageEventId,
} from '../../../shared/domain/usage-event.ts'
import { parseLogLine, usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { readLogLineSubjects, subjectOf } from '../../../shared/usage-lines/log-line-subjects.ts'

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'.split('')), minLength: length, maxLength: length })

const event: fc.Arbitrary<UsageEvent> = fc
  .record({
    namespaceId: fc.uuid(),
    accountId: hex(32).map((text) => `account_${text}`),
    source: fc.oneof(
      hex(32).map((text) => `metric_${text}`),
      fc.constantFrom('usd', 'eur'),
    ),
    quantity: fc.constantFrom('0', '-5', '0.000000000000000001', '99999999999999999999.999999999999999999'),
    occurredAt: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    acceptedAt: fc.integer({ min: 0, max: 4_102_444_800_000_000 }),
    properties: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })),
    correctedAt: fc.option(fc.integer({ min: 0, max: 4_102_444_800_000_000 })),
    voided: fc.boolean(),
  })
  .map((fields) => {
    const properties = JSON.stringify(fields.properties)
    return {
      ...fields,
      id: usageEventId(fields.namespaceId, fields.accountId, fields.source, fields.occurredAt, {
        kind: 'random',
      }),
      properties,
      propertyPairs: propertyPairs(fields.properties),
      version: reportVersion(fields.acceptedAt, contentOf({ ...fields, properties })),
    }
  })

/** A typical event, with flat properties such as text and numbers. */
const plainEvent: fc.Arbitrary<UsageEvent> = fc
  .tuple(
    event,
    fc.dictionary(
      fc.string({ unit: 'grapheme' }),
      fc.oneof(fc.string(), fc.double(), fc.integer(), fc.boolean(), fc.constant(null)),
    ),
  )
  .map(([one, given]) => {
    const properties = JSON.stringify(given)
    return { ...one, properties, propertyPairs: propertyPairs(JSON.parse(properties) as Properties) }
  })

describe('a line of the event log', () => {
  it('gives back the event that was written', () => {
    fc.assert(
      fc.property(event, (written) => {
        const line = usageEventToLine(written)
        expect(line).to.not.contain('\n')
        expect(parseLogLine(line)).to.deep.equal({ event: written })
      }),
    )
  })

  it('is refused with a reason when it is not one of ours', () => {
    const [good] = fc.sample(event, { numRuns: 1, seed: 1 })
    if (good === undefined) throw new Error('no sample')
    const row = JSON.parse(usageEventToLine(good)) as Record<string, unknown>
    const faults: [Record<string, unknown> | string, RegExp][] = [
      ['', /not JSON/],
      ['{', /not JSON/],
      ['[]', /not a JSON object/],
      ['null', /not a JSON object/],
      [{ namespace_id: 'x' }, /^namespace_id/],
      [{ account_id: 'account_1' }, /^account_id/],
      [{ source: 'USD' }, /^source/],
      [{ event_id: 'event_1' }, /^event_id/],
      [{ occurred_at: 1 }, /^occurred_at: is not the time that the event id begins with/],
      [{ occurred_at: '1' }, /^occurred_at/],
      [{ quantity: 5 }, /^quantity: is not text/],
      [{ quantity: '1e400' }, /^quantity: "1e400" is not a plain decimal/],
      [{ quantity: '0.0000000000000000001' }, /^quantity: .*19 decimal places/],
      [{ properties: 'x' }, /^properties/],
      [{ properties: [] }, /^properties/],
      [{ property_pairs: [1] }, /^property_pairs/],
      [{ property_pairs: undefined }, /^property_pairs/],
      [{ accepted_at: '2026-13-01 00:00:00.000000' }, /^accepted_at/],
      [{ accepted_at: '2026-02-30 00:00:00.000000' }, /^accepted_at/],
      [{ accepted_at: 5 }, /^accepted_at/],
      [{ corrected_at: 'x' }, /^corrected_at/],
      [{ voided: true }, /^voided/],
      [{ version: '18446744073709551616' }, /^version/],
      [{ version: 5 }, /^version/],
    ]
    for (const [change, reason] of faults) {
      const line = typeof change === 'string' ? change : JSON.stringify({ ...row, ...change })
      const parsed = parseLogLine(line)
      expect('fault' in parsed ? parsed.fault : 'no fault', line).to.match(reason)
    }
    expect(parseLogLine(JSON.stringify({ ...row, from_a_newer_gateway: 1 }))).to.have.property('event')
  })

  it('is read for whom it is about among others, whatever its properties are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(event, plainEvent), { minLength: 1 }),
        fc.boolean(),
        (written, isEnded) => {
          const text = written.map(usageEventToLine).join('\n') + (isEnded ? '\n' : '')
          expect(readLogLineSubjects(text)).to.deep.equal(written.map(subjectOf))
        },
      ),
    )
  })

  it('is read for whom it is about exactly when it can be counted, however it was damaged', () => {
    const damage = fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom(
          '0',
          '9',
          'a',
          'Z',
          '"',
          '\\',
          ',',
          ':',
          '{',
          '}',
          '[',
          ']',
          '.',
          '-',
          ' ',
          '\x01',
          '\r',
          'ü',
          '',
        ),
        fc.integer({ min: 0, max: 2 }),
      ),
      { minLength: 1, maxLength: 2 },
    )
    let counted = 0
    fc.assert(
      fc.property(fc.oneof(event, plainEvent), damage, (written, places) => {
        let line = usageEventToLine(written)
        for (const [place, put, gone] of places) {
          const at = place % line.length
          line = line.slice(0, at) + put + line.slice(at + gone)
        }
        const parsed = parseLogLine(line)
        if ('event' in parsed) counted++
        expect(readLogLineSubjects(line), line).to.deep.equal(
          'fault' in parsed ? undefined : [subjectOf(parsed.event)],
        )
      }),
      { numRuns: 5_000 },
    )
    expect(counted, 'damaged where it matters to nobody').to.be.within(200, 4_800)
  })

  it('is not read for whom it is about when nothing or too much stands in it', () => {
    const [one] = fc.sample(plainEvent, 1)
    if (one === undefined) throw new Error('no sample')
    const line = usageEventToLine(one)
    expect(readLogLineSubjects(line)).to.have.length(1)
    const largest = usageEventToLine({ ...one, version: 18_446_744_073_709_551_615n })
    expect(readLogLineSubjects(largest)).to.have.length(1)
    for (const text of [
      '',
      '\n',
      `${line}\n\n`,
      `${line}x`,
      `${line}${line}`,
      largest.replace('18446744073709551615', '18446744073709551616'),
      line.replace(/"accepted_at":"\d{4}-\d\d-\d\d/, '"accepted_at":"2026-02-30'),
      line.replace('"occurred_at":', '"occurred_at":1'),
    ])
      expect(readLogLineSubjects(text), text).to.equal(undefined)
  })
})

describe('properties', () => {
  const faultOf = (properties: Properties): string => {
    const checked = checkProperties(properties)
    return 'fault' in checked ? checked.fault : ''
  }
  const nested = (depth: number): Properties => (depth <= 1 ? {} : { a: nested(depth - 1) })

  it('are bounded in size, depth and text', () => {
    expect(faultOf({ a: 'x'.repeat(16_376) })).to.equal('')
    expect(faultOf({ a: 'x'.repeat(16_377) })).to.match(/16385 bytes/)
    expect(faultOf({ a: 'ü'.repeat(8_189) })).to.match(/bytes/)
    expect(faultOf(nested(8))).to.equal('')
    expect(faultOf(nested(9))).to.match(/nested deeper than 8/)
    expect(faultOf({ a: [[[[[[[[]]]]]]]] })).to.match(/nested deeper than 8/)
    expect(faultOf({ a: 'x\0' })).to.match(/NUL/)
    expect(faultOf({ a: [{ 'b\0': 1 }] })).to.match(/NUL/)
    expect(faultOf({ a: '\ud800' })).to.match(/surrogate/)
    expect(faultOf({ '\udc00': 1 })).to.match(/surrogate/)
    expect(
      faultOf(JSON.parse('{"__proto__":{"x":1},"constructor":1,"toString":"y"}') as Properties),
    ).to.equal('')
  })

  it('survive a depth that would overflow the stack', () => {
    const deep = JSON.parse(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`) as Properties
    expect(faultOf(deep)).to.match(/nested deeper/)
  })

  it('are found by name and value where both can be asked for', () => {
    const pairs = propertyPairs(
      JSON.parse(
        '{"model":"gpt=4","n":1.50,"big":1e21,"yes":true,"no":null,"empty":"","o":{"x":1},"a-b":"x","gen_ai.request":"y","a b":"z","_ok9":"ü","l":[1],"__proto__":"p"}',
      ) as Properties,
    )
    expect(pairs).to.deep.equal([
      'model=gpt=4',
      'n=1.5',
      'big=1e+21',
      'yes=true',
      'a-b=x',
      'gen_ai.request=y',
      '_ok9=ü',
      '__proto__=p',
    ])
    expect(propertyPairs({ a: '😀'.repeat(500) })).to.have.length(1)
    expect(propertyPairs({ a: '😀'.repeat(501) })).to.have.length(0)
    expect(propertyPairs({ ['n'.repeat(100)]: 1, ['m'.repeat(101)]: 1 })).to.have.length(1)
  })
})
