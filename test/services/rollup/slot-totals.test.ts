import { expect } from 'chai'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { dirtySlotRepository } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { dayOf } from '../../../shared/clickhouse/rollups/usage-cover.ts'
import { usageThroughRollups } from '../../../shared/clickhouse/usage/usage-through-rollups.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { countingClickHouse, QueryCounts } from '../../support/count-queries.ts'
import { expectRollupsExact, startRollupStage } from '../../support/rollup-stage.ts'
import { storeAsLoader, takeRollupStep } from '../../support/rollup-steps.ts'
import { ACCOUNT, makeReport, NAMESPACE } from '../../support/usage-event.ts'

const HOUR_S = 3_600
const SLOT_S = 300
const OTHER = `account_${'b'.repeat(32)}`

describe('totals of slots', function () {
  this.timeout(120_000)
  let stage: Awaited<ReturnType<typeof startRollupStage>>
  let now: number
  let sent = 0

  before(async () => {
    stage = await startRollupStage('slot_totals', SLOT_S)
    now = await stage.epochs.now()
  })
  after(() => stage.close())

  /** Stores an event of an account like the loader. */
  async function store(accountId: string, occurredAt: number): Promise<void> {
    const event = makeReport({ accountId, occurredAt })
    await storeAsLoader(stage, event)
    sent++
  }

  /** Counts the events of a range, of all accounts or of one, and returns the tables of slots that were read. */
  async function count(accountId?: string): Promise<{ events: number; tables: string[] }> {
    const counts = new QueryCounts()
    const reader = usageThroughRollups(countingClickHouse(stage.client, counts))
    // It begins within a day, so that slots are read at midnight too.
    const range = { startAt: now - 3 * HOUR_S + 7, endAt: now + HOUR_S }
    const usage = await reader.aggregate(NAMESPACE, {
      range,
      ...(accountId === undefined ? {} : { accountId }),
    })
    const asked = counts.clickhouse.flatMap(({ query }) => query.match(/(?<=FROM )usage_by_slot\w*/g) ?? [])
    return { events: Number(usage.get('usd')?.count ?? 0n), tables: [...new Set(asked)] }
  }

  const ofAll = (events: number) => ({ events, tables: ['usage_by_slot_total'] })
  const step = (kind: 'close' | 'rebuild', upTo: number) => takeRollupStep(stage.computing, { kind, upTo })

  it('are read for all accounts together, and slots for one', async () => {
    for (const [accountId, agoS] of [
      [ACCOUNT, 9_000],
      [OTHER, 9_000],
      [ACCOUNT, 3_700],
    ] as const)
      await store(accountId, now - agoS)
    await step('rebuild', 2 * HOUR_S)
    expect(await count(), 'built').to.deep.equal(ofAll(3))
    await step('close', HOUR_S)
    expect(await count(), 'closed').to.deep.equal(ofAll(3))
    expect(await count(ACCOUNT)).to.deep.equal({ events: 2, tables: ['usage_by_slot'] })
  })

  it('have what came late of one of the accounts', async () => {
    await store(OTHER, now - 9_000)
    expect((await count()).events, 'marked').to.equal(sent)
    await takeRollupStep(stage.computing, { kind: 'late' })
    expect(await count(), 'recomputed').to.deep.equal(ofAll(sent))
    await expectRollupsExact(stage.client, NAMESPACE)
  })

  it('have what came late of whole days, of any account', async () => {
    const at = now - 9_000
    await usageEventRepository(stage.writing).insertLines(
      Buffer.from(usageEventToLine(makeReport({ accountId: OTHER, occurredAt: at }))),
    )
    sent++
    const day = { namespaceId: NAMESPACE, accountId: '', slot: dayOf(at), kind: 'day' as const }
    await dirtySlotRepository(stage.writing).placeReady([day], '7', now)
    await takeRollupStep(stage.computing, { kind: 'late' })
    expect((await count()).events).to.equal(sent)
    await expectRollupsExact(stage.client, NAMESPACE)
  })
})
