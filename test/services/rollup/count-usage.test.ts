import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { randomInteger, seededRandom } from '../../../clients/reporter/simulate/seeded-random.ts'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { deleteNamespaces } from '../../../shared/clickhouse/events/delete-namespaces.ts'
import { eventCountRepository } from '../../../shared/clickhouse/events/event-counts.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { inEveryNamespace, withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { retiredNamespaceRepository } from '../../../shared/postgres/retired-namespaces.ts'
import { everyUsageCountRepository } from '../../../shared/postgres/usage-counts.ts'
import { type Recount, recountUsage } from '../../../shared/usage/recount-usage.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { IS_LONG, SEED, tell } from '../../support/fault-seed.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { makeCorrection, makeReport } from '../../support/usage-event.ts'
import { countAllUsage } from '../count-usage.ts'

const JANUARY = Date.UTC(2026, 0, 15) / 1_000
const FEBRUARY = Date.UTC(2026, 1, 15) / 1_000
/** The time of the test in microseconds. */
const NOW = Math.floor(Date.now() / 1_000) * 1_000_000
const EARLIER = NOW - 3_600_000_000
const never = new AbortController().signal

describe('the count of usage', function () {
  this.timeout(60_000)
  let db: TestDatabase
  let clickhouse: OpenedClickHouse
  let company: { id: string; namespaceId: string }

  before(async () => {
    db = await createDatabase('count_usage')
    clickhouse = await createClickHouse('count usage')
  })
  beforeEach(async () => {
    await clickhouse.client.command({ query: 'TRUNCATE TABLE usage_events' })
    company = await makeCompany()
  })
  after(async () => {
    await clickhouse.close()
    await db.close()
  })

  async function makeCompany() {
    const made = { id: randomUUID(), namespaceId: randomUUID() }
    await withTransaction(db.pool, (tx) =>
      companyRepository(tx).insert({ ...made, name: made.id, mode: 'test' }),
    )
    return made
  }

  const store = (...events: UsageEvent[]) =>
    usageEventRepository(clickhouse.client).insertLines(
      Buffer.from(events.map((event) => `${usageEventToLine(event)}\n`).join('')),
    )
  const report = (fields: Partial<UsageEvent> = {}) =>
    makeReport({ namespaceId: company.namespaceId, occurredAt: JANUARY, acceptedAt: EARLIER, ...fields })

  /**
   * Counts every month.
   *
   * @param ageS counts usage that was accepted at least this many seconds before NOW
   */
  const count = async (ageS = 60): Promise<string> => {
    await countAllUsage(db.pool, clickhouse.client, ageS + (Date.now() - NOW / 1_000) / 1_000)
    return kept()
  }
  const kept = async (): Promise<string> => {
    const all = await inEveryNamespace(db.pool, (tx) => everyUsageCountRepository(tx).list())
    return all
      .filter(({ namespaceId }) => namespaceId === company.namespaceId)
      .sort((a, b) => a.month - b.month)
      .map(({ month, events, missing }) => `${month}: ${events}${missing > 0 ? `, ${missing} missing` : ''}`)
      .join('; ')
  }
  const lose = (condition: string) =>
    clickhouse.client.command({
      query: `DELETE FROM usage_events WHERE namespace_id = '${company.namespaceId}' AND ${condition}`,
    })

  it('counts each event once by its month, however often it is loaded, corrected or voided', async () => {
    const [first, second, third] = [report(), report(), report({ occurredAt: FEBRUARY })]
    await store(first, second, third)
    expect(await count()).to.equal('202601: 2; 202602: 1')
    await store(first, second, third)
    await store(makeCorrection(first, { quantity: '7' }), makeCorrection(second, { voided: true }))
    await store({ ...third, acceptedAt: third.acceptedAt + 5, version: third.version - 1_280n })
    expect(await count()).to.equal('202601: 2; 202602: 1')
    await clickhouse.client.command({ query: 'OPTIMIZE TABLE usage_events FINAL' })
    await store(report({ occurredAt: FEBRUARY }))
    expect(await count()).to.equal('202601: 2; 202602: 2')
  })

  it('leaves out what was accepted a moment ago, until that is a while ago', async () => {
    await store(report(), report({ acceptedAt: NOW }))
    expect(await count(600)).to.equal('202601: 1')
    expect(await count(-60)).to.equal('202601: 2')
  })

  it('finds whatever of it is lost, though more has come since, and keeps that in mind', async () => {
    const lost = [report(), report()]
    await store(...lost, report(), report({ occurredAt: FEBRUARY }))
    expect(await count()).to.equal('202601: 3; 202602: 1')
    await lose(`id IN (${lost.map(({ id }) => `unhex('${id.slice(6)}')`).join(', ')})`)
    const more = Array.from({ length: 10 }, () => report({ acceptedAt: NOW }))
    await store(...more)
    expect(await count()).to.equal('202601: 3, 2 missing; 202602: 1')
    expect(await count(-60)).to.equal('202601: 3, 2 missing; 202602: 1')
    await lose('toYYYYMM(occurred_at) = 202602')
    expect(await count(-60)).to.equal('202601: 3, 2 missing; 202602: 1, 1 missing')
    await store(...lost, report({ occurredAt: FEBRUARY }))
    expect(await count(-60)).to.equal('202601: 13; 202602: 1')
  })

  it('forgets what a reset has taken, before its rows are deleted and after', async () => {
    await store(report(), report())
    await count()
    await withTransaction(db.pool, (tx) => companyRepository(tx).replaceNamespace(company.id, randomUUID()))
    expect(await count()).to.equal('')
    await deleteNamespaces(clickhouse.client)([company.namespaceId], never)
    while ((await retiredNamespaceRepository(db.pool).removeRows(company.namespaceId, 100)) > 0);
    expect(await count()).to.equal('')
    const { rows } = await db.pool.query<{ rows: string }>('SELECT count(*) AS rows FROM usage_counts')
    expect(rows).to.have.length(1)
  })

  it('goes on with usage of nobody in the table', async () => {
    await store(report(), report({ namespaceId: randomUUID() }))
    expect(await count()).to.equal('202601: 1')
  })

  it('counts the months of more companies than a statement could name, whenever each was counted', async () => {
    await store(report(), report({ acceptedAt: EARLIER + 5 }), report({ acceptedAt: NOW }))
    const others = Array.from({ length: 10_000 }, (_, nth) => ({
      namespaceId: randomUUID(),
      month: 202_601,
      events: nth % 2,
      countedBefore: NOW - 7,
      missing: 0,
    }))
    const mine = { ...company, month: 202_601, events: 3, countedBefore: EARLIER + 1, missing: 0 }
    const counts = { list: () => Promise.resolve([...others, mine]) }
    const events = eventCountRepository(clickhouse.client)
    const retired = retiredNamespaceRepository(db.pool)
    const found = new Map<string, Recount>()
    for await (const recounts of recountUsage({ counts, events, retired, signal: never }, NOW))
      for (const recount of recounts) found.set(recount.namespaceId, recount)
    expect(found).to.have.property('size', others.length + 1)
    expect(found.get(company.namespaceId)).to.include({ counted: 3, missing: 2, events: 2 })
    expect([...found.values()].filter(({ missing }) => missing > 0)).to.have.length(others.length / 2 + 1)
  })

  it('misses nothing and nothing that is there, in random histories', async () => {
    tell(`seed ${SEED}`)
    const random = seededRandom(`count usage ${SEED}`)
    const some = <T>(all: readonly T[]): T | undefined => all[randomInteger(random, Math.max(1, all.length))]
    for (let history = 0; history < (IS_LONG ? 100 : 3); history++) {
      company = await makeCompany()
      const events: UsageEvent[] = []
      /** The ids of the events of the last count. */
      let counted = new Set<string>()
      /** The age of a count, which falls from count to count. Usage is loaded before it is counted. */
      let ageS = 90_000.5
      for (let step = 0; step < 25; step++) {
        const choice = random()
        if (choice < 0.45) {
          const occurredAt = some([JANUARY, FEBRUARY]) ?? JANUARY
          events.push(
            report({
              occurredAt,
              acceptedAt: NOW - (Math.floor(ageS) - 30 - randomInteger(random, 2_000)) * 1_000_000,
            }),
          )
          await store(...events.slice(-1))
        } else if (choice < 0.6) {
          const event = some(events)
          if (event !== undefined) await store(event)
        } else if (choice < 0.75) {
          const event = some(events)
          if (event !== undefined) await store(makeCorrection(event, { voided: random() < 0.5 }))
        } else if (choice < 0.8)
          await clickhouse.client.command({ query: 'OPTIMIZE TABLE usage_events FINAL' })
        else {
          ageS -= 1_000
          expect(await count(ageS), `history ${history}`).not.to.contain('missing')
          const before = NOW - ageS * 1_000_000
          // A counted event stays counted.
          counted = new Set([
            ...counted,
            ...events.filter(({ acceptedAt }) => acceptedAt < before).map(({ id }) => id),
          ])
        }
      }
      const lost = events.filter(() => random() < 0.3)
      if (lost.length > 0) await lose(`id IN (${lost.map(({ id }) => `unhex('${id.slice(6)}')`).join(', ')})`)
      await store(report({ acceptedAt: NOW }))
      const missing = [...(await count(0)).matchAll(/(\d+) missing/g)].reduce(
        (sum, [, n]) => sum + Number(n),
        0,
      )
      expect(missing).to.equal(lost.filter(({ id }) => counted.has(id)).length)
    }
  })
})
