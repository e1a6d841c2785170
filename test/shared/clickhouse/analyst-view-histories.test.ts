import { expect } from 'chai'
import fc from 'fast-check'
import { makeAnalystViews } from '../../../shared/clickhouse/analyst-views.ts'
import { queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { type DirtySlot, dirtySlotRepository } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { ROLLUP_TABLES } from '../../../shared/clickhouse/rollups/rollup-table-names.ts'
import { dayOf } from '../../../shared/clickhouse/rollups/usage-cover.ts'
import { analystViewNames, readViewsContract } from '../../../shared/clickhouse/views-contract.ts'
import { DAY_S } from '../../../shared/domain/time-range.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { formatMicros } from '../../../shared/time/micros-text.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { storeLateCoarsely } from '../../support/coarse-marks.ts'
import { type RollupStage, setSlotLength, startRollupStage } from '../../support/rollup-stage.ts'
import { takeRollupStep } from '../../support/rollup-steps.ts'
import { ACCOUNT, makeCorrection, makeReport, NAMESPACE } from '../../support/usage-event.ts'
import { UsageRows } from '../../support/usage-rows.ts'

/** Histories are played for a while, and three at least. */
const SHORT_MS = 8_000
const PLAYED_MIN = 3
const HOUR_S = 3_600
/** With more digits than a double has, and small enough that sums of all events fit into quantity_38. */
const LARGE = '999999999999999999.999999999999999999'
const OTHER_NAMESPACE = '018cc251-f400-7000-8000-000000000002'
const OTHER_ACCOUNT = `account_${'b'.repeat(32)}`
const METRIC = `metric_${'c'.repeat(32)}`
const TABLES = ['usage_events', ...ROLLUP_TABLES, 'usage_dirty_slots']

const quantity = fc.constantFrom('1', '-1', '2.5', '0.000000000000000001', LARGE)
/** Seconds from the end of another change, in the clock of another gateway. */
const later = fc.constantFrom(-3, 1, 2, 5)
const event = fc.record({
  isElsewhere: fc.constantFrom<'no' | 'account' | 'namespace'>('no', 'no', 'account', 'namespace'),
  source: fc.constantFrom('usd', METRIC),
  quantity,
  daysAgo: fc.constantFrom(0, 0, 1, 2, 3, 34, 200),
  shift: fc.constantFrom(-1, 0, 1, 299, 300, 40_000),
  acceptedAfterS: fc.nat({ max: 60 }),
  repeatedAfterS: fc.option(later),
  corrections: fc.array(fc.record({ quantity, isVoid: fc.boolean(), afterS: later }), { maxLength: 3 }),
})
const history = fc.record({
  events: fc.array(event, { minLength: 20, maxLength: 40 }),
  /** What was accepted and corrected before this second was stored before the first load; the rest is late. */
  cutAfterS: fc.nat({ max: 60 }),
  /** Of the rest, each nth was stored before as well. */
  nth: fc.integer({ min: 2, max: 9 }),
  order: fc.array(fc.nat(), { minLength: 300, maxLength: 300 }),
  marks: fc.constantFrom('accounts' as const, 'slots' as const, 'days' as const),
  upTo: fc.constantFrom(50 * HOUR_S, 3 * HOUR_S, 900),
})
type History = typeof history extends fc.Arbitrary<infer T> ? T : never

const SCOPES: readonly string[] = [NAMESPACE, OTHER_NAMESPACE]
const SUMS = 'sum(e.quantity) AS quantity, count() AS events'
const SOURCE = 'metric_id, currency'

describe('the views of analysts, whatever is late, repeated, corrected or voided', function () {
  this.timeout(240_000)
  let stage: RollupStage
  let ofAll: string
  let ofOne: (namespaceId: string) => string

  before(async () => {
    stage = await startRollupStage('view_histories', 300)
    const [row] = await queryRows<{ name: string }>(stage.client, 'SELECT currentDatabase() AS name', {})
    const database = row?.name ?? ''
    ofAll = `${database}_analytics`
    ofOne = (namespaceId) => `${database}_company_${SCOPES.indexOf(namespaceId) + 1}`
    for (const namespaceId of SCOPES)
      await makeAnalystViews(stage.client, { database, into: ofOne(namespaceId), namespaceId })
    // Merges would make one row of what is stored several times.
    for (const table of ['usage_events', ...ROLLUP_TABLES])
      await stage.client.command({ query: `SYSTEM STOP MERGES ${table}` })
  })
  after(() => stage.close())

  type Row = Record<string, unknown>
  const read = (query: string) => queryRows<Row>(stage.client, query, {})

  const compareDays = async (into: string, namespace: string, when: string) => {
    for (const [view, account] of [
      ['daily_usage', 'account_id,'],
      ['daily_totals', ''],
    ]) {
      const columns = `${namespace} day, ${account} ${SOURCE}`
      const found = await read(`SELECT ${columns}, quantity, events FROM ${into}.${view} ORDER BY ALL`)
      const meant = await read(
        `SELECT ${columns.replace('day', 'toDate(occurred_at) AS day')}, ${SUMS} FROM ${into}.events AS e
          GROUP BY ${columns} ORDER BY ALL`,
      )
      expect(found, `${into}.${view} ${when}`).to.deep.equal(meant)
    }
  }
  const compareScopes = async (when: string) => {
    for (const namespaceId of SCOPES)
      for (const view of analystViewNames())
        expect(
          await read(`SELECT * FROM ${ofOne(namespaceId)}.${view} ORDER BY ALL`),
          `${view} of one company ${when}`,
        ).to.deep.equal(
          await read(
            `SELECT * EXCEPT namespace_id FROM ${ofAll}.${view} WHERE namespace_id = '${namespaceId}' ORDER BY ALL`,
          ),
        )
  }
  const requirePromises = async (into: string, namespace: string, when: string) => {
    for (const { name, key, columns } of readViewsContract().views) {
      const twice = await read(
        `SELECT count() FROM ${into}.${name} GROUP BY ${namespace} ${key.join()} HAVING count() > 1`,
      )
      expect(twice, `the key of ${name} ${when}`).to.deep.equal([])
      const never = columns.filter(({ neverNull }) => neverNull).map((one) => `countIf(isNull(${one.name}))`)
      const [nulls] = await read(`SELECT [${never.join()}] AS counts FROM ${into}.${name}`)
      expect(nulls?.['counts'], `NULLs of ${name} ${when}`).to.deep.equal(never.map(() => '0'))
    }
  }

  const store = (rows: readonly UsageEvent[]) =>
    usageEventRepository(stage.writing).insertLines(Buffer.from(rows.map(usageEventToLine).join('\n')))
  const storeLate = (rows: readonly UsageEvent[], marks: History['marks'], now: number) =>
    storeLateCoarsely(stage, marks, now)(rows)

  const clear = async () => {
    for (const table of TABLES) await stage.client.command({ query: `TRUNCATE TABLE ${table}` })
    await setSlotLength(stage.client, 300)
  }

  /** Plays a history. @returns the number of days that were read from rollups, and of changes that were loaded */
  async function play(drawn: History): Promise<{ rolled: number; loaded: number; voids: number }> {
    await clear()
    const now = await stage.epochs.now()
    const rows = shuffled(rowsOf(drawn, now), drawn.order)
    const cut = (now - 300 + drawn.cutAfterS) * 1_000_000
    const isBefore = (row: UsageEvent, place: number) =>
      Math.max(row.acceptedAt, row.correctedAt ?? 0) < cut || place % drawn.nth === 0
    const [early, late] = [rows.filter(isBefore), rows.filter((row, place) => !isBefore(row, place))]
    const stored = new UsageRows()
    const passed: string[] = []
    const compare = async (what: string) => {
      passed.push(what)
      const when = `after ${passed.join(', ')}`
      await compareDays(ofAll, 'namespace_id,', when)
      const counted = await read(
        `SELECT event_id FROM ${ofAll}.events WHERE namespace_id = '${NAMESPACE}' ORDER BY event_id`,
      )
      expect(counted.map((row) => row['event_id'])).to.deep.equal(
        stored
          .counting(NAMESPACE)
          .map(({ id }) => id)
          .sort(),
      )
    }
    await store(early)
    stored.store(early)
    await compare('the first')
    const copy = new Map(
      (await read(`SELECT * FROM ${ofAll}.event_changes`)).map((row) => [row['event_id'], row]),
    )
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: drawn.upTo })
    await compare('rollups')
    if (late.length > 0) await storeLate(late, drawn.marks, now)
    stored.store(late)
    await compare('the rest')
    const changes = await read(
      `SELECT * FROM ${ofAll}.event_changes WHERE changed_at >= toDateTime64('${formatMicros(cut)}', 6, 'UTC')`,
    )
    for (const row of changes) copy.set(row['event_id'], row)
    const merged = [...copy.values()].filter((row) => row['is_void'] === false)
    const meant = await read(`SELECT * FROM ${ofAll}.events ORDER BY event_id`)
    expect(merged.map(withoutChange).sort(byId)).to.deep.equal(meant.sort(byId))
    await compareScopes('with late usage')
    await requirePromises(ofAll, 'namespace_id,', 'with late usage')
    await requirePromises(ofOne(NAMESPACE), '', 'with late usage')
    await takeRollupStep(stage.computing, { kind: 'close', upTo: 300 })
    await compare('closed')
    await takeRollupStep(stage.computing, { kind: 'late' })
    await compare('worked off')
    await compareScopes('with all in rollups')
    const [rolled] = await read('SELECT toUInt32(count()) AS n FROM usage_by_day_total FINAL')
    const voids = copy.size - merged.length
    return { rolled: Number(rolled?.['n']), loaded: changes.length, voids }
  }

  it('are exact by day and account, in total, for one company, and as changes since a load', async () => {
    const startedAt = performance.now()
    const seen = { played: 0, rolled: 0, loaded: 0, voids: 0 }
    await fc.assert(
      fc.asyncProperty(history, async (drawn) => {
        if (seen.played >= PLAYED_MIN && performance.now() - startedAt > SHORT_MS) return
        const { rolled, loaded, voids } = await play(drawn)
        seen.played++
        seen.rolled += rolled
        seen.loaded += loaded
        seen.voids += voids
      }),
      { numRuns: 100, endOnFailure: true },
    )
    // Views that go by the events alone, or without changes, would be right, too.
    for (const count of Object.values(seen)) expect(count, JSON.stringify(seen)).to.be.greaterThan(0)
  })

  it('show each day once while its marks come and go', async () => {
    await clear()
    const today = dayOf(await stage.epochs.now())
    const at = today - 3 * DAY_S + 300
    await store([makeReport({ occurredAt: at })])
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: HOUR_S })
    // The rollup of the day lacks these on purpose: an answer is 1 from the rollup, or 3 from the events.
    await store([makeReport({ occurredAt: at }), makeReport({ occurredAt: at })])
    const dirty = dirtySlotRepository(stage.writing)
    const mark: DirtySlot = { namespaceId: NAMESPACE, accountId: OTHER_ACCOUNT, slot: at, kind: 'slot' }
    const reads = new Map<string, number>()
    const over = new AbortController()
    const marking = (async () => {
      for (let n = 1; !over.signal.aborted; n++) {
        await dirty.placeReady([mark], String(n), at)
        await dirty.cancel([{ insertId: String(n), stage: 1 }])
      }
    })()
    try {
      for (let n = 0; n < 50; n++)
        for (const view of ['daily_usage', 'daily_totals']) {
          const [row] = await read(`SELECT toUInt32(sum(events)) AS n FROM ${ofAll}.${view}`)
          const name = `${view} ${String(row?.['n'])}`
          reads.set(name, (reads.get(name) ?? 0) + 1)
        }
    } finally {
      over.abort()
      await marking
    }
    expect([...reads.keys()].sort()).to.deep.equal(
      ['daily_totals', 'daily_usage'].flatMap((view) => [`${view} 1`, `${view} 3`]),
    )
  })

  it('read marks and rollups’ reach before the usage, as one value', async () => {
    for (const view of ['daily_usage', 'daily_totals']) {
      const plan = await queryRows<{ explain: string }>(
        stage.client,
        `EXPLAIN SELECT * FROM ${ofAll}.${view} AS a, ${ofAll}.${view} AS b`,
        {},
      )
      const text = plan.map(({ explain }) => explain).join('\n')
      expect(text).to.contain('usage_events').and.to.contain('usage_by_day')
      expect(text).to.not.contain('usage_dirty_slots').and.to.not.contain('rollup_epochs')
    }
  })
})

const withoutChange = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'changed_at' && name !== 'is_void'))

const byId = (a: Record<string, unknown>, b: Record<string, unknown>): number =>
  String(a['event_id']) < String(b['event_id']) ? -1 : 1

/** All rows that a history stores. */
function rowsOf({ events }: History, now: number): UsageEvent[] {
  return events.flatMap((one, number) => {
    const { source, isElsewhere, daysAgo, shift, acceptedAfterS, repeatedAfterS, corrections } = one
    const occurredAt = Math.min(dayOf(now) - daysAgo * DAY_S + shift, now)
    // No two of them at one time.
    const timeOf = (seconds: number, change: number) =>
      (now - 300 + seconds) * 1_000_000 + number * 100 + change
    const accepted = {
      key: `key ${number} of ${now}`,
      namespaceId: isElsewhere === 'namespace' ? OTHER_NAMESPACE : NAMESPACE,
      accountId: isElsewhere === 'account' ? OTHER_ACCOUNT : ACCOUNT,
      source,
      occurredAt,
    }
    const report = makeReport({
      ...accepted,
      quantity: one.quantity,
      acceptedAt: timeOf(acceptedAfterS, 0),
      properties: `{"model":"m${number}"}`,
      propertyPairs: [`model=m${number}`],
    })
    const rows = [report]
    if (repeatedAfterS !== null)
      rows.push(
        makeReport({ ...accepted, quantity: '77', acceptedAt: timeOf(acceptedAfterS + repeatedAfterS, 1) }),
      )
    let seconds = acceptedAfterS
    let last = report
    for (const [nth, { quantity, isVoid, afterS }] of corrections.entries()) {
      if (last.voided) break
      seconds += afterS
      last = makeCorrection(last, { quantity, voided: isVoid, correctedAt: timeOf(seconds, 2 + nth) })
      rows.push(last)
    }
    return rows
  })
}

/** In an order that was drawn. */
const shuffled = (rows: readonly UsageEvent[], order: readonly number[]): UsageEvent[] =>
  [...rows.keys()].sort((a, b) => (order[a] ?? 0) - (order[b] ?? 0)).flatMap((place) => rows[place] ?? [])
