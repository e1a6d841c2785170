import { expect } from 'chai'
import {
  dirtySlotRepository,
  type DirtySlot,
  type MarkedUsage,
} from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { startRollupStage } from '../../support/rollup-stage.ts'
import { NAMESPACE } from '../../support/usage-event.ts'

const AFTER = { orphanS: 600, lateAfterS: 60, historyAfterS: 120 }
const GATHERING_S: Record<MarkedUsage, number> = {
  lately: AFTER.lateAfterS,
  history: AFTER.historyAfterS,
}
/** A mark of each kind of usage. */
const SLOTS: Record<MarkedUsage, DirtySlot> = {
  lately: { namespaceId: NAMESPACE, accountId: 'account_1', slot: 1_600_000_200, kind: 'slot' },
  history: { namespaceId: NAMESPACE, accountId: 'account_1', slot: 1_600_041_600, kind: 'dayOfHistory' },
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
  /** As a loader does whose insert is through. @param agoS how long ago it was placed */
  const place = (usage: MarkedUsage, mark: string, agoS: number) =>
    dirty().placeReady([SLOTS[usage]], mark, now - agoS)
  const listed = async (usage: MarkedUsage, limit = 10) =>
    (await dirty().listReady(usage, AFTER, limit)).map(({ mark }) => mark)

  for (const usage of ['lately', 'history'] as const) {
    const other = usage === 'lately' ? 'history' : 'lately'

    it(`gather until the oldest has waited (${usage})`, async () => {
      await place(usage, '1', GATHERING_S[usage] - 30)
      await place(usage, '2', 0)
      await place(other, '3', 1_000) // waits for its own kind alone
      expect(await listed(usage)).to.deep.equal([])
      await place(usage, '4', GATHERING_S[usage] + 1)
      expect(await listed(usage)).to.deep.equal(['4', '1', '2'])
      expect(await listed(usage, 2), 'as many as are asked for').to.deep.equal(['4', '1'])
    })

    it(`of a time to come, before the clock was set back, wait for nothing (${usage})`, async () => {
      await place(usage, '1', -1_000)
      expect(await listed(usage)).to.deep.equal(['1'])
    })

    it(`of a time to come wait for those that gather (${usage})`, async () => {
      await place(usage, '1', -1_000)
      await place(usage, '2', 0)
      expect(await listed(usage)).to.deep.equal([])
    })

    it(`of a loader that was killed are due once they count as stored, and others with them (${usage})`, async () => {
      await dirty().placePending([SLOTS[usage]], '1', now - AFTER.orphanS - 10)
      await place(usage, '2', 0)
      expect(await listed(usage)).to.deep.equal(['1', '2'])
    })

    it(`of inserts that are not through hurry nobody (${usage})`, async () => {
      await dirty().placePending([SLOTS[usage]], '1', now - GATHERING_S[usage] - 100)
      await place(usage, '2', 0)
      expect(await listed(usage)).to.deep.equal([])
    })
  }
})
