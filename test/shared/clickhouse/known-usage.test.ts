import { expect } from 'chai'
import fc from 'fast-check'
import { RATIO_ZERO } from '../../../shared/amount/ratio.ts'
import type { ClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import {
  type EventsBefore,
  type KnownReads,
  knownUsageReader,
} from '../../../shared/clickhouse/usage/known-usage.ts'
import type { RatedPlan } from '../../../shared/clickhouse/usage/rated-usage.ts'
import { rawReadSemaphore } from '../../../shared/clickhouse/usage/raw-read-semaphore.ts'
import { namedValues } from '../../../shared/domain/billing/named-values.ts'
import { type Properties, propertyPairs } from '../../../shared/domain/properties.ts'
import { ALL_TIME } from '../../../shared/domain/time-range.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { countingClickHouse, QueryCounts } from '../../support/count-queries.ts'
import { failureOf } from '../../support/failure-of.ts'
import { asking } from '../../support/pausing.ts'
import { randomRate } from '../../support/random-rates.ts'
import { until } from '../../support/until.ts'
import { ACCOUNT, makeCorrection, makeReport, NAMESPACE } from '../../support/usage-event.ts'
import { UsageRows } from '../../support/usage-rows.ts'
import { looped, shown } from './looped-usage.ts'

/** The time for which histories run; at least five run. */
const SHORT_MS = 12_000
const SECOND = 1_000_000
/** The time of the first acceptance, in seconds. It may be after the times of usage. */
const FIRST = 1_800_000_000
const SECONDS = 8
const START = 1_767_225_600
const DAY = 86_400
const OTHER_NAMESPACE = '018cc251-f400-7000-8000-000000000002'
const OTHER_ACCOUNT = `account_${'b'.repeat(32)}`

const quantity = fc.constantFrom('1', '-1', '2.5', '7', '0.000000000000000001', '99999999999999999999.5')
const properties: fc.Arbitrary<Properties> = fc.record(
  {
    region: fc.constantFrom('a', 'b', 'c', '', null, 1),
    model: fc.constantFrom('a', 'b', { a: 'a' }),
    id: fc.nat(),
  },
  { requiredKeys: [] },
)
/** Microseconds of a second, mostly at its edges. */
const micros = fc
  .tuple(fc.nat({ max: SECONDS - 1 }), fc.constantFrom(0, 0, 1, 999_999, 500_000))
  .map(([second, rest]) => second * SECOND + rest)
/** Seconds at the edges of ranges. */
const second = fc
  .tuple(fc.nat({ max: 4 }), fc.constantFrom(-1, 0, 0, 1, 150, 300, 40_000))
  .map(([day, shift]) => START + day * DAY + shift)
const event = fc.record({
  isElsewhere: fc.constantFrom<'no' | 'account' | 'namespace'>(
    'no',
    'no',
    'no',
    'no',
    'account',
    'namespace',
  ),
  source: fc.constantFrom('metric_t', 'metric_t', 'metric_u', 'usd'),
  occurredAt: second,
  acceptedAt: micros,
  content: fc.record({ quantity, properties }),
  /** A later report of the event with another content. */
  again: fc.option(fc.record({ quantity, properties })),
  corrections: fc.uniqueArray(
    fc.record({
      at: micros,
      change: fc.oneof(fc.record({ quantity }), fc.record({ properties }), fc.constant({ voided: true })),
    }),
    { maxLength: 3, selector: ({ at }) => at },
  ),
})
const history = fc.record({
  events: fc.array(event, { minLength: 15, maxLength: 30 }),
  ranges: fc.array(fc.tuple(second, second), { maxLength: 3 }),
  rates: fc.tuple(randomRate('1'), randomRate('2')),
  rateCount: fc.constantFrom(0, 1, 2),
  creditBefore: second,
  limit: fc.constantFrom(1, 3, 100),
})
type History = typeof history extends fc.Arbitrary<infer T> ? T : never

describe('usage as it was known', function () {
  this.timeout(120_000)
  let opened: Awaited<ReturnType<typeof createClickHouse>>
  let client: ClickHouse

  before(async () => {
    opened = await createClickHouse('known_usage')
    client = opened.client
    // Merges would collapse repeated rows.
    await client.command({ query: 'SYSTEM STOP MERGES usage_events' })
  })
  after(() => opened.close())
  beforeEach(() => client.command({ query: 'TRUNCATE TABLE usage_events' }))

  const store = (...rows: readonly UsageEvent[]) =>
    usageEventRepository(client).insertLines(Buffer.from(rows.map(usageEventToLine).join('\n')))
  const read = <T>(
    plan: RatedPlan,
    rows: readonly UsageEvent[],
    work: (reads: KnownReads) => Promise<T>,
    by = client,
  ): Promise<T> => knownUsageReader(by, rawReadSemaphore()).read(NAMESPACE, plan, revisionsIn(rows), work)

  it('is what a loop over the events finds that were accepted by then, as they were, and so is what has come since', async () => {
    const startedAt = performance.now()
    let played = 0
    let listed = 0
    await fc.assert(
      fc.asyncProperty(history, async (drawn) => {
        if (played >= 5 && performance.now() - startedAt > SHORT_MS) return
        await client.command({ query: 'TRUNCATE TABLE usage_events' })
        const rows = drawn.events.flatMap(rowsOf)
        await store(...rows.slice(rows.length / 2))
        await store(...rows.slice(0, rows.length / 2))
        const plan = planOf(drawn)
        await read(plan, rows, async (reads) => {
          for (let known = 0; known <= SECONDS; known++)
            expect(shown(await reads.usageBefore(FIRST + known)), `known at ${known}`).to.deep.equal(
              shown(
                looped(
                  plan,
                  knownIn(rows, FIRST + known).filter(({ voided }) => !voided),
                ),
              ),
            )
          for (let since = 0; since <= SECONDS; since += 3)
            for (const before of [since, since + 1, SECONDS]) {
              const changes = await reads.differencesBetween(FIRST + since, FIRST + before, drawn.limit)
              const wanted = changesIn(plan, rows, FIRST + since, FIRST + before)
              expect(changes.map(shownChange), `from ${since} to ${before}`).to.deep.equal(
                wanted.slice(0, drawn.limit),
              )
              listed += changes.length
            }
        })
        played++
      }),
      { numRuns: 100, endOnFailure: true },
    )
    expect(listed).to.be.greaterThan(10)
  })

  it('is asked in one question, and what was corrected since in one more', async () => {
    const report = makeReport({ source: 'metric_t', occurredAt: START, acceptedAt: FIRST * SECOND })
    const corrected = makeCorrection(report, { quantity: '5', correctedAt: (FIRST + 2) * SECOND })
    await store(report, corrected)
    const counts = new QueryCounts()
    const asked: string[][] = []
    const eventsBefore: EventsBefore = (ids, before) => {
      asked.push([...ids])
      return revisionsIn([report, corrected])(ids, before)
    }
    await knownUsageReader(countingClickHouse(client, counts), rawReadSemaphore()).read(
      NAMESPACE,
      EVERYTHING,
      eventsBefore,
      async (reads) => {
        for (const [second, wanted] of [
          [FIRST, undefined],
          [FIRST + 1, '1'],
          [FIRST + 3, '5'],
        ] as const) {
          const { usage } = await reads.usageBefore(second)
          expect(usage.get(0)?.[0]?.usage.sum.toString()).to.equal(wanted)
        }
      },
    )
    expect(counts.clickhouse).to.have.length(3)
    expect(asked).to.deep.equal([[report.id]])
  })

  it('tells once of what is corrected while it is asked for', async () => {
    const reports = ['1', '2'].map((given, n) =>
      makeReport({
        source: 'metric_t',
        quantity: given,
        occurredAt: START + n,
        acceptedAt: FIRST * SECOND + n,
      }),
    )
    const rows = [
      ...reports,
      ...reports.map((one) => makeCorrection(one, { voided: true, correctedAt: (FIRST + 5) * SECOND })),
    ]
    await store(...reports)
    let asked = 0
    const meanwhile = asking(client, async (given, query) => {
      const answer = await query(given)
      if (asked++ === 0) await store(...rows.slice(2))
      return answer
    })
    const changes = await read(
      EVERYTHING,
      rows,
      (reads) => reads.differencesBetween(FIRST, FIRST + 1, 10),
      meanwhile,
    )
    expect(asked).to.equal(2)
    expect(changes.map(({ id, then, now }) => [id, then, now.quantity, now.voided])).to.deep.equal(
      reports.map(({ id, quantity: given }) => [id, undefined, given, false]),
    )
  })

  it('waits for a place among the raw reads', async () => {
    const semaphore = rawReadSemaphore({ waitMs: 50, waitingMax: 1 })
    const reader = knownUsageReader(client, semaphore)
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    let held = 0
    const first = [1, 2].map(() =>
      reader.read(NAMESPACE, EVERYTHING, revisionsIn([]), () => {
        held++
        return released
      }),
    )
    await until(() => Promise.resolve(held === 2))
    const err = await failureOf(
      reader.read(NAMESPACE, EVERYTHING, revisionsIn([]), (reads) => reads.usageBefore(FIRST)),
    )
    expect(err).to.be.instanceOf(DomainError).with.property('code', 'overloaded')
    release()
    await Promise.all(first)
  })

  it('is refused where too much was corrected since', async () => {
    await client.command({
      query: `INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties,
          property_pairs, accepted_at, corrected_at, version)
        SELECT '${NAMESPACE}', '${ACCOUNT}', 'metric_t', toDateTime(${START}, 'UTC'),
          concat('event_', lower(hex(toUInt32(${START}))), leftPad(lower(hex(number)), 24, '0')), 1, '{}', [],
          toDateTime64(${FIRST}, 6, 'UTC'), toDateTime64(${FIRST + 5}, 6, 'UTC'), 1
        FROM numbers(200001)`,
    })
    for (const work of [
      (reads: KnownReads) => reads.usageBefore(FIRST + 1),
      (reads: KnownReads) => reads.differencesBetween(FIRST, FIRST + 1, 10),
    ]) {
      const err = await failureOf(read<unknown>(EVERYTHING, [], work))
      expect(err).to.be.instanceOf(DomainError).with.property('code', 'unprocessable')
    }
    await read(EVERYTHING, [], async (reads) => {
      expect((await reads.usageBefore(FIRST + 6)).usage.get(0)?.[0]?.usage.count).to.equal(200_001n)
    })
  })

  it('is none where there is nothing to read', async () => {
    const counts = new QueryCounts()
    const nothing = { ...EVERYTHING, usage: { ranges: [], named: new Map() } }
    await read(
      nothing,
      [],
      async (reads) => {
        expect(await reads.usageBefore(FIRST)).to.deep.equal({ usage: new Map(), currencyUsage: RATIO_ZERO })
        expect(await reads.differencesBetween(0, FIRST, 10)).to.deep.equal([])
      },
      countingClickHouse(client, counts),
    )
    expect(counts.clickhouse).to.deep.equal([])
  })
})

const EVERYTHING: RatedPlan = {
  contract: { accountId: ACCOUNT, currency: 'usd' },
  creditBefore: 0,
  usage: { ranges: [{ piece: 0, ...ALL_TIME }], named: new Map() },
}

const withProperties = (given: Properties) => ({
  properties: JSON.stringify(given),
  propertyPairs: propertyPairs(given),
})

/** All rows of an event. */
function rowsOf(drawn: History['events'][number]): UsageEvent[] {
  const { isElsewhere, source, occurredAt, content, again } = drawn
  const report = makeReport({
    namespaceId: isElsewhere === 'namespace' ? OTHER_NAMESPACE : NAMESPACE,
    accountId: isElsewhere === 'account' ? OTHER_ACCOUNT : ACCOUNT,
    source,
    occurredAt,
    acceptedAt: FIRST * SECOND + drawn.acceptedAt,
    quantity: content.quantity,
    ...withProperties(content.properties),
  })
  const rows = [report]
  if (again !== null) {
    const { id, namespaceId, accountId, acceptedAt } = report
    const later = makeReport({
      ...{ namespaceId, accountId, source, occurredAt },
      acceptedAt: acceptedAt + SECOND,
      quantity: again.quantity,
      ...withProperties(again.properties),
    })
    rows.push({ ...later, id })
  }
  let newest = report
  for (const { at, change } of drawn.corrections.toSorted((a, b) => a.at - b.at)) {
    const correctedAt = FIRST * SECOND + at
    if (newest.voided || correctedAt <= report.acceptedAt) continue
    const what = 'properties' in change ? withProperties(change.properties) : change
    newest = makeCorrection(newest, { ...what, correctedAt })
    rows.push(newest)
  }
  return rows
}

function planOf({ ranges, rates, rateCount, creditBefore }: History): RatedPlan {
  return {
    contract: { accountId: ACCOUNT, currency: 'usd' },
    creditBefore,
    usage: {
      ranges: ranges.map(([one, two], piece) => ({
        piece,
        startAt: Math.min(one, two),
        endAt: Math.max(one, two),
      })),
      named: namedValues(rates.slice(0, rateCount)),
    },
  }
}

/**
 * The versions of events before a time: for each the last correction before it, or without one the first report.
 * Includes voided events.
 */
function knownIn(rows: readonly UsageEvent[], before: number): UsageEvent[] {
  const known = new UsageRows()
  known.store(rows.filter(({ acceptedAt, correctedAt }) => (correctedAt ?? acceptedAt) < before * SECOND))
  return known.newest(NAMESPACE).filter(({ accountId }) => accountId === ACCOUNT)
}

const revisionsIn =
  (rows: readonly UsageEvent[]): EventsBefore =>
  (ids, before) => {
    const wanted = new Set(ids)
    const revisions = new UsageRows()
    revisions.store(
      rows.filter(({ id, correctedAt }) => wanted.has(id) && (correctedAt === null || correctedAt < before)),
    )
    return Promise.resolve(new Map(revisions.newest(NAMESPACE).map((event) => [event.id, event])))
  }

/** All events that differ from their earlier version, or differed from it in between. */
function changesIn(plan: RatedPlan, rows: readonly UsageEvent[], since: number, before: number): object[] {
  const then = new Map(knownIn(rows, since).map((event) => [event.id, event]))
  const timeOf = ({ acceptedAt, correctedAt }: UsageEvent) => correctedAt ?? acceptedAt
  return knownIn(rows, before)
    .filter((event) => timeOf(event) >= since * SECOND)
    .filter(({ occurredAt }) =>
      plan.usage.ranges.some(({ startAt, endAt }) => startAt <= occurredAt && occurredAt < endAt),
    )
    .sort((a, b) => timeOf(a) - timeOf(b) || (a.id < b.id ? -1 : 1))
    .map((now) => shownChange({ id: now.id, then: then.get(now.id), now }))
}

interface Shown extends Pick<UsageEvent, 'source' | 'voided' | 'properties' | 'acceptedAt' | 'correctedAt'> {
  quantity: string
}

function shownChange({ id, then, now }: { id: string; then: Shown | undefined; now: Shown }): object {
  const state = (is: Shown | undefined) =>
    is && [is.source, Number(is.quantity), is.voided, is.properties, is.acceptedAt, is.correctedAt]
  return { id, then: state(then), now: state(now) }
}
