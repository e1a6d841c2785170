import { expect } from 'chai'
import { queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { type DirtySlot, dirtySlotRepository } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { startRollupStage } from '../../support/rollup-stage.ts'
import { NAMESPACE } from '../../support/usage-event.ts'

const AFTER = { orphanS: 600, lateAfterS: 60 }
const SLOT: DirtySlot = {
  namespaceId: NAMESPACE,
  accountId: 'account_1',
  slot: 1_600_000_200,
  kind: 'slot',
}

describe('marks of late usage', function () {
  this.timeout(30_000)
  let stage: Awaited<ReturnType<typeof startRollupStage>>
  let now: number

  before(async () => {
    stage = await startRollupStage('dirty_slots', 300)
  })
  after(() => stage.close())
  beforeEach(async () => {
    now = await stage.epochs.now()
  })
  afterEach(() => stage.writing.command({ query: 'TRUNCATE TABLE usage_dirty_slots' }))

  const dirty = () => dirtySlotRepository(stage.writing)
  /** Places ready marks, like a loader after its insert. @param agoS the age of the marks */
  const place = (insertId: string, agoS: number) => dirty().placeReady([SLOT], insertId, now - agoS)
  const listed = async (limit = 10) => (await dirty().listReady(AFTER, limit)).map(({ insertId }) => insertId)

  it('gather until the oldest has waited', async () => {
    await place('1', AFTER.lateAfterS - 30)
    await place('2', 0)
    expect(await listed()).to.deep.equal([])
    await place('4', AFTER.lateAfterS + 1)
    expect(await listed()).to.deep.equal(['4', '1', '2'])
    expect(await listed(2), 'as many as are asked for').to.deep.equal(['4', '1'])
  })

  it('of a time to come, before the clock was set back, wait for nothing', async () => {
    await place('1', -1_000)
    expect(await listed()).to.deep.equal(['1'])
  })

  it('of a time to come wait for those that gather', async () => {
    await place('1', -1_000)
    await place('2', 0)
    expect(await listed()).to.deep.equal([])
  })

  it('of a loader that was killed are due once they count as stored, and others with them', async () => {
    await dirty().placePending([SLOT], '1', now - AFTER.orphanS - 10)
    await place('2', 0)
    expect(await listed()).to.deep.equal(['1', '2'])
  })

  it('of inserts that are not through hurry nobody', async () => {
    await dirty().placePending([SLOT], '1', now - AFTER.lateAfterS - 100)
    await place('2', 0)
    expect(await listed()).to.deep.equal([])
  })

  const merged = async () => {
    await stage.writing.command({ query: 'OPTIMIZE TABLE usage_dirty_slots FINAL' })
    return queryRows<{ account: string; kind: number; sum: number }>(
      stage.client,
      'SELECT account_id AS account, kind, toInt32(change) AS sum FROM usage_dirty_slots ORDER BY account_id, kind',
      {},
    )
  }

  it('are merged away once they are taken back, but for late counts', async () => {
    const all = [SLOT, { ...SLOT, slot: SLOT.slot + 300 }, { ...SLOT, accountId: 'account_2' }]
    await dirty().placePending(all, '1', now)
    await dirty().turnReady(all, '1', now)
    await place('2', 0)
    await dirty().cancel([
      { insertId: '1', stage: 1 },
      { insertId: '2', stage: 1 },
    ])
    // As marks are placed, and again as they are turned ready.
    expect(await merged()).to.deep.equal([
      { account: 'account_1', kind: 2, sum: 3 },
      { account: 'account_2', kind: 2, sum: 2 },
    ])
  })

  it('that were taken back twice stay after merges, until they are repaired', async () => {
    await place('2', 100)
    await stage.writing.command({
      query: `INSERT INTO usage_dirty_slots SELECT namespace_id, account_id, kind, slot, insert_id, stage, placed_at, -1
        FROM usage_dirty_slots ARRAY JOIN [1, 2] AS service WHERE kind = 0`,
    })
    const counted = { account: 'account_1', kind: 2, sum: 1 }
    expect(await merged()).to.deep.equal([{ account: 'account_1', kind: 0, sum: -1 }, counted])
    await dirty().repair(60)
    expect(await merged()).to.deep.equal([counted])
  })
})
