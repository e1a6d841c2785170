import { expect } from 'chai'
import { recomputeLate } from '../../../services/rollup/recompute-late.ts'
import type { ClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import { dirtySlotRepository } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { DAY_S } from '../../../shared/domain/time-range.ts'
import { commanding } from '../../support/pausing.ts'
import { countMarks, startRollupStage } from '../../support/rollup-stage.ts'
import { MARKS_AFTER } from '../../support/rollup-steps.ts'
import { NAMESPACE } from '../../support/usage-event.ts'

const ACCOUNTS = 40_000
/** This includes a hundred MB that every statement needs. */
const MEMORY_MAX = 300_000_000

describe('late usage', function () {
  this.timeout(120_000)
  let stage: Awaited<ReturnType<typeof startRollupStage>>

  before(async () => {
    stage = await startRollupStage('recompute_late', 300)
  })
  after(() => stage.close())

  /** Wraps a client, and limits the memory of its statements. */
  const limited = (client: ClickHouse): ClickHouse =>
    commanding(client, (given, command) =>
      command({
        ...given,
        clickhouse_settings: { ...given.clickhouse_settings, max_memory_usage: String(MEMORY_MAX) },
      }),
    )

  it('of very many accounts of one day, each by its own mark, is computed in bounded memory', async () => {
    const { epochs } = stage
    const parts = {
      epochs,
      tables: rollupTables(limited(stage.computing), 60),
      dirty: dirtySlotRepository(stage.computing),
      reached: () => undefined,
      signal: new AbortController().signal,
    }
    await buildEpoch({ client: stage.computing, ...parts }, 3_600)
    const now = await epochs.now()
    const day = now - (now % DAY_S) - 50 * DAY_S
    const insert = (query: string) =>
      stage.writing.command({ query, query_params: { namespaceId: NAMESPACE, accounts: ACCOUNTS, day } })
    // One event of each marked account, and of as many accounts without a mark.
    await insert(`
      INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, accepted_at, id, quantity, version)
      SELECT {namespaceId:String}, 'account_' || leftPad(toString(number), 32, '0'), 'usd',
        toDateTime({day:UInt32}, 'UTC') + number, toDateTime({day:UInt32}, 'UTC') + number + 5,
        reinterpretAsFixedString(toUInt128(number)), 1, 1
      FROM numbers(2 * {accounts:UInt32})`)
    await insert(`
      INSERT INTO usage_dirty_slots
      SELECT {namespaceId:String}, 'account_' || leftPad(toString(number), 32, '0'), 0, toDateTime({day:UInt32}, 'UTC'), 7, 1, now(), 1
      FROM numbers({accounts:UInt32})`)
    expect(await countMarks(stage.client)).to.equal(ACCOUNTS)
    await recomputeLate(parts, MARKS_AFTER)
    expect(await countMarks(stage.client)).to.equal(0)
    const [row] = await stage.client
      .query({
        query: `SELECT toUInt32(count()) AS accounts, toUInt32(sum(count)) AS events FROM usage_by_day FINAL WHERE epoch = 1`,
        format: 'JSONEachRow',
      })
      .then((result) => result.json<{ accounts: number; events: number }>())
    expect(row).to.deep.equal({ accounts: ACCOUNTS, events: ACCOUNTS })
  })
})
