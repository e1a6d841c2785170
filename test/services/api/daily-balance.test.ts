import { expect } from 'chai'
import fc from 'fast-check'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { textOf, unitsOf } from '../../support/decimal-units.ts'
import { timesIn } from '../../support/layout.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'
import { makeCorrection } from '../../support/usage-event.ts'

const DAY_S = 86_400
const now = Math.floor(Date.now() / 1_000)
const today = now - (now % DAY_S)

/** Whether a grant that begins or expires at a time is in the same state during the whole test. */
const isFarFromNow = (at: number) => Math.abs(at - now) > 900

/** A second near the edge of one of the last days, or of the next. */
const second = fc
  .tuple(fc.integer({ min: -1, max: 8 }), fc.constantFrom(-1, 0, 1, 40_000))
  .map(([daysBack, shift]) => today - daysBack * DAY_S + shift)
  .filter((at) => isFarFromNow(at))
const amount = fc.constantFrom(
  '1',
  '-1',
  '2.5',
  '0.000000000000000001',
  '99999999999999999999.999999999999999999',
)
const world = fc.record({
  grants: fc.array(
    fc
      .record({
        amount,
        effectiveAt: second,
        expiresAfter: fc.option(fc.constantFrom(1, 60, DAY_S, 3 * DAY_S, 400 * DAY_S), { nil: undefined }),
        state: fc.constantFrom('stands', 'stands', 'voided', 'archived'),
        isOther: fc.boolean(),
      })
      .filter(({ effectiveAt, expiresAfter = 0 }) => isFarFromNow(effectiveAt + expiresAfter)),
    { maxLength: 12 },
  ),
  events: fc.array(
    fc.record({
      quantity: amount,
      // Usage of long before, and of a short time after now, counts too.
      occurredAt: fc.oneof(
        second.filter((at) => at <= now + 300),
        fc.constantFrom(1_600_000_000, now + 200),
      ),
      change: fc.constantFrom(undefined, undefined, 'void', '7'),
      isOther: fc.boolean(),
    }),
    { maxLength: 12 },
  ),
  asks: fc.array(fc.tuple(second, second), { minLength: 2, maxLength: 4 }),
  hasMetric: fc.boolean(),
})
type World = typeof world extends fc.Arbitrary<infer T> ? T : never
type Answer = SchemaOf<'DailyBalances'>

describe('the balance by day over HTTP', function () {
  this.timeout(180_000)
  let running: RunningApi

  before(async () => {
    running = await startApi('daily_balance')
  })
  after(() => running.stop())

  const targetOf = (made: StoredWorld, source: string, startAt: number, endAt: number) => {
    const by = source.length === 3 ? `currency=${source.toUpperCase()}` : `metric_id=${source}`
    return `/v2/accounts/${made.account}/balance/daily?${by}&start_at=${startAt}&end_at=${endAt}`
  }

  /** The balance at the end of a day, or now, with plain loops. */
  function balanceOf({ grants, events }: World, day: number) {
    const isNow = day === today
    const end = day + DAY_S
    const counts = ({ effectiveAt, expiresAfter, state, isOther }: World['grants'][number]) =>
      state === 'stands' &&
      !isOther &&
      (isNow ? effectiveAt <= now : effectiveAt < end) &&
      (expiresAfter === undefined ||
        (isNow ? effectiveAt + expiresAfter > now : effectiveAt + expiresAfter >= end))
    const granted = grants.filter(counts).reduce((sum, grant) => sum + unitsOf(grant.amount), 0n)
    const used = events
      .filter(
        ({ occurredAt, change, isOther }) => change !== 'void' && !isOther && (isNow || occurredAt < end),
      )
      .reduce((sum, { quantity, change }) => sum + unitsOf(change ?? quantity), 0n)
    return { grant_total: textOf(granted), usage_total: textOf(used), balance: textOf(granted - used) }
  }

  async function make(drawn: World): Promise<{ made: StoredWorld; source: string }> {
    const made = await makeStoredWorld(running, 2, 1)
    const [metric = ''] = made.metrics
    const [source, other] = drawn.hasMetric ? [metric, 'usd'] : ['usd', metric]
    for (const { amount: granted, effectiveAt, expiresAfter, state, isOther } of drawn.grants) {
      const of = isOther ? other : source
      const id = await made.grant({
        ...(of.length === 3 ? { currency: of } : { metric_id: of }),
        amount: granted,
        effective_at: effectiveAt,
        ...(expiresAfter === undefined ? {} : { expires_at: effectiveAt + expiresAfter }),
      })
      if (state !== 'stands')
        await made.change(`UPDATE grants SET ${state}_at = now() WHERE grant_id = $1`, [id])
    }
    for (const { quantity, occurredAt, change, isOther } of drawn.events) {
      const event = made.makeEvent({ source: isOther ? other : source, quantity, occurredAt })
      const corrected =
        change === undefined
          ? []
          : [makeCorrection(event, change === 'void' ? { voided: true } : { quantity: change })]
      await running.store([event, ...corrected, event])
    }
    return { made, source }
  }

  it('equals plain loops over random grants and usage, and its last day is the balance now', async () => {
    await fc.assert(
      fc.asyncProperty(world, async (drawn) => {
        const { made, source } = await make(drawn)
        for (const [one, two] of drawn.asks) {
          const [start, end] = [Math.min(one, two), Math.max(one, two) + 1]
          const target = targetOf(made, source, start, end)
          const { status, text, body } = await made.api.get<Answer>(target)
          expect(status, text).to.equal(200)
          const expected = []
          for (let day = start - (start % DAY_S); day < end && day <= now; day += DAY_S)
            expected.push({ period_start_at: day, ...balanceOf(drawn, day) })
          expect(body.data, target).to.deep.equal(expected)
        }
        const { body } = await made.api.get<Answer>(targetOf(made, source, today, today + 1))
        const by = source.length === 3 ? `currency=${source}` : `metric_id=${source}`
        const balance = await made.api.get<SchemaOf<'Balance'>>(`/v2/accounts/${made.account}/balance?${by}`)
        expect({ ...body.data[0], account_id: made.account }).to.include({
          balance: balance.body.balance,
          usage_total: balance.body.usage_total,
          grant_total: balance.body.grant_total,
        })
      }),
      {
        numRuns: timesIn({ embedded: 25, processes: 5 }),
        interruptAfterTimeLimit: 150_000,
        markInterruptAsFailure: true,
      },
    )
  })

  it('counts a grant from the day on which it begins to the day before it expires', async () => {
    const made = await makeStoredWorld(running)
    const day = today - 10 * DAY_S
    await made.grant({ currency: 'usd', amount: '5', effective_at: day, expires_at: day + 2 * DAY_S })
    await made.grant({ currency: 'usd', amount: '3', effective_at: day + 60, expires_at: day + 120 })
    const { body } = await made.api.get<Answer>(targetOf(made, 'usd', day - DAY_S, day + 3 * DAY_S))
    expect(body.data.map(({ grant_total: total }) => total)).to.deep.equal(['0', '5', '5', '0'])
  })

  it('makes a fixed number of queries', async function () {
    if (running.inside === undefined) return this.skip()
    const { counts } = running.inside
    const made = await makeStoredWorld(running)
    await made.store({ source: 'usd', quantity: '1', occurredAt: today - 5 * DAY_S })
    for (const days of [1, 90, 3_000]) {
      counts.clear()
      await made.api.get<Answer>(targetOf(made, 'usd', today - days * DAY_S, now))
      expect(counts.postgres.length, `${days} days`).to.equal(2) // the account and the grants
      const usage = counts.clickhouse.filter(({ query }) => !query.includes('rollup_epochs'))
      expect(usage.length, `${days} days`).to.be.at.most(4) // marks and usage, twice
    }
  })

  it('refuses what it cannot answer', async () => {
    const made = await makeStoredWorld(running)
    const other = await makeStoredWorld(running)
    const [metric = ''] = made.metrics
    const path = `/v2/accounts/${made.account}/balance/daily`
    const cases: [string, number, string][] = [
      [`${path}?start_at=0&end_at=5`, 400, 'metric_id, currency: exactly one of them is required'],
      [`${path}?currency=usd&metric_id=${metric}&start_at=0&end_at=5`, 400, 'exactly one of them'],
      [`${path}?currency=usd&start_at=0`, 400, 'end_at'],
      [`${path}?currency=usd&end_at=5`, 400, 'start_at'],
      [`${path}?currency=usd&start_at=5&end_at=5`, 422, 'end_at: must be after start_at'],
      [`${path}?currency=usd&start_at=0&end_at=${3_700 * DAY_S + 1}`, 400, 'overlaps 3701 UTC days'],
      [`${path}?metric_id=metric_${'0'.repeat(32)}&start_at=0&end_at=5`, 404, 'not found'],
      [`${path}?metric_id=${other.metrics[0]}&start_at=0&end_at=5`, 404, 'not found'],
      [path.replace(made.account, other.account) + '?currency=usd&start_at=0&end_at=5', 404, 'not found'],
    ]
    for (const [target, status, text] of cases) {
      const answer = await made.api.get(target)
      expect(answer.status, `${target}: ${answer.text}`).to.equal(status)
      expect(answer.text, target).to.contain(text)
    }
    const all = await made.api.get<Answer>(`${path}?currency=usd&start_at=0&end_at=${3_700 * DAY_S}`)
    expect(all.body.data).to.have.length(3_700)
    const future = await made.api.get<Answer>(
      `${path}?currency=usd&start_at=${today + DAY_S}&end_at=${today + 9 * DAY_S}`,
    )
    expect(future.body.data).to.deep.equal([])
  })
})
