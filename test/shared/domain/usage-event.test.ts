import { expect } from 'chai'
import fc from 'fast-check'
import {
  contentOf,
  correctionVersion,
  findTimeFault,
  type IdentityKey,
  occurredAtOfEventId,
  reportVersion,
  usageEventId,
} from '../../../shared/domain/usage-event.ts'

const NAMESPACE = '0f8fad5b-d9cb-469f-a165-70867728950e'
const ACCOUNT = 'account_0f8fad5bd9cb469fa16570867728950e'
const METRIC = 'metric_7c9e6679742540de944be07fc1f90ae7'
const keyed = (key: string): IdentityKey => ({ kind: 'event', key })

describe('the time of a usage event', () => {
  const at = (text: string) => Date.parse(text) / 1_000

  it('lies as far back as ranges go that were not told: five calendar years, leap years or not', () => {
    for (const [now, earliest] of [
      ['2026-11-26T20:00:00Z', '2021-11-26T20:00:00Z'], // with one leap day
      ['2029-01-01T00:00:00Z', '2024-01-01T00:00:00Z'], // with two
      ['2028-02-29T12:00:00Z', '2023-02-28T12:00:00Z'],
    ] as const) {
      expect(findTimeFault(at(earliest), at(now)), now).to.equal(undefined)
      expect(findTimeFault(at(earliest) - 1, at(now)), now).to.equal('lies more than five years back')
    }
  })

  it('lies five minutes ahead at most', () => {
    expect(findTimeFault(1_700_000_300, 1_700_000_000)).to.equal(undefined)
    expect(findTimeFault(1_700_000_301, 1_700_000_000)).to.equal('lies more than five minutes ahead')
  })
})

describe('the id of a usage event', () => {
  // The expected ids were computed with Python's hashlib.
  it('never changes: it is how a retry after years meets its first report', () => {
    expect(usageEventId(NAMESPACE, ACCOUNT, METRIC, 1_700_158_623, keyed('request-8812'))).to.equal(
      'event_65565c9f31f0ef7e540c929546ee65a0',
    )
    expect(usageEventId(NAMESPACE, ACCOUNT, 'usd', 0, { kind: 'request', key: 'r', index: 7 })).to.equal(
      'event_000000002d305d50474460bb50f8e37a',
    )
    expect(
      usageEventId(NAMESPACE, ACCOUNT, 'usd', 1_700_158_623, {
        kind: 'route',
        route: 'POST /v2/events/batch',
        key: 'r',
        index: 7,
      }),
    ).to.equal('event_65565c9fdf14d8257ec4d978c3b83f4a')
    expect(
      usageEventId(NAMESPACE, ACCOUNT, METRIC, 1_700_158_623, {
        kind: 'cloudevent',
        source: '/gateway/eu',
        id: 'request-8812',
      }),
    ).to.equal('event_65565c9f879a9387a7cdcaa9855352f4')
  })

  it('of a CloudEvent depends on its source and its id, and on where the one ends', () => {
    const keys: IdentityKey[] = [
      { kind: 'cloudevent', source: 'a', id: 'bc' },
      { kind: 'cloudevent', source: 'ab', id: 'c' },
      { kind: 'cloudevent', source: 'b', id: 'bc' },
      { kind: 'cloudevent', source: 'bc', id: 'a' },
      { kind: 'cloudevent', source: 'a', id: '1:a2:bc' },
      { kind: 'cloudevent', source: '1:a', id: 'bc' },
      keyed('bc'),
      keyed('abc'),
      keyed('1:a2:bc'),
      { kind: 'route', route: 'a', key: 'bc', index: 0 },
    ]
    const ids = keys.map((key) => usageEventId(NAMESPACE, ACCOUNT, METRIC, 5, key))
    expect(new Set(ids).size).to.equal(keys.length)
  })

  it('begins with the time and depends on everything else that identifies', () => {
    const word = fc.string({ maxLength: 8 })
    const identity = fc.tuple(word, word, word, fc.constantFrom(0, 1_700_000_000, 4_294_967_295), word)
    fc.assert(
      fc.property(identity, identity, (a, b) => {
        const [idA, idB] = [a, b].map(([n, account, source, at, key]) =>
          usageEventId(n, account, source, at, keyed(key)),
        )
        expect(idA).to.match(/^event_[0-9a-f]{32}$/)
        expect(occurredAtOfEventId(idA ?? '')).to.equal(a[3])
        expect(idA === idB).to.equal(JSON.stringify(a) === JSON.stringify(b))
      }),
    )
  })

  it('keeps parts apart that would read the same when joined', () => {
    const ids = [
      ['a', 'bc', 'd'],
      ['ab', 'c', 'd'],
      ['a', 'b', 'cd'],
      ['1:a', 'bc', 'd'],
    ].map(([account = '', source = '', key = '']) => usageEventId(NAMESPACE, account, source, 5, keyed(key)))
    expect(new Set(ids).size).to.equal(ids.length)
  })

  it('of a request’s key meets neither that of another place or route, nor that of an event’s own key', () => {
    const ofRoute = (route: string, key: string, index: number): IdentityKey => ({
      kind: 'route',
      route,
      key,
      index,
    })
    const keys: IdentityKey[] = [
      keyed('k'),
      { kind: 'request', key: 'k', index: 0 },
      { kind: 'request', key: 'k', index: 1 },
      ofRoute('POST /v2/events', 'k', 0),
      ofRoute('POST /v2/events/batch', 'k', 0),
      ofRoute('POST /v2/events/batch', 'k', 1),
      ofRoute('POST /v2/events', '/batchk', 0),
    ]
    const ids = keys.map((key) => usageEventId(NAMESPACE, ACCOUNT, METRIC, 5, key))
    expect(new Set(ids).size).to.equal(keys.length)
  })

  it('of an event without a key is new each time', () => {
    const ids = Array.from({ length: 100 }, () =>
      usageEventId(NAMESPACE, ACCOUNT, METRIC, 5, { kind: 'random' }),
    )
    expect(new Set(ids).size).to.equal(100)
  })
})

describe('the version of a usage event', () => {
  const micros = fc.integer({ min: 0, max: 2 ** 53 - 1 })

  it('lets the first report win', () => {
    fc.assert(
      fc.property(micros, micros, fc.string(), fc.string(), (a, b, contentA, contentB) => {
        const [early, late] = a < b ? [a, b] : [b, a]
        if (early !== late) {
          expect(reportVersion(early, contentA) > reportVersion(late, contentB)).to.equal(true)
        }
      }),
    )
  })

  it('fits 63 bits: the highest is for corrections', () => {
    for (const at of [0, 1, 1_763_726_400_123_456, 2 ** 53 - 1]) {
      expect(reportVersion(at, 'x') >= 0n).to.equal(true)
      expect(reportVersion(at, 'x') < 2n ** 63n).to.equal(true)
    }
  })

  it('of the same report in the same microsecond is the same, and mostly another for another content', () => {
    const version = (quantity: string) => reportVersion(5, contentOf({ quantity, properties: '{}' }))
    expect(version('1')).to.equal(version('1'))
    expect(new Set(Array.from({ length: 100 }, (_, n) => version(String(n)))).size).to.be.greaterThan(70)
  })
})

describe('the version of a correction', () => {
  const time = fc.integer({ min: 0, max: 9_007_199_254_740_991 }) // beyond the year 2200
  const content = fc.string()

  it('lies above that of every report, and fits into 64 bits', () => {
    fc.assert(
      fc.property(time, time, content, content, (correctedAt, acceptedAt, a, b) => {
        const version = correctionVersion(correctedAt, a)
        expect(version > reportVersion(acceptedAt, b)).to.equal(true)
        expect(version < 1n << 64n).to.equal(true)
      }),
    )
  })

  it('rises with every microsecond, whatever the contents', () => {
    fc.assert(
      fc.property(time, fc.integer({ min: 1, max: 1_000_000 }), content, content, (at, later, a, b) => {
        expect(correctionVersion(at + later, b) > correctionVersion(at, a)).to.equal(true)
      }),
    )
  })

  it('tells voided from not voided where all else is equal', () => {
    const event = { quantity: '5', properties: '{}' }
    const versions = [true, false].map((voided) =>
      correctionVersion(1_700_000_000_000_000, contentOf({ ...event, voided })),
    )
    expect(new Set(versions).size).to.equal(2)
  })
})
