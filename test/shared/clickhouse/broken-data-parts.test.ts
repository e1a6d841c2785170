import { cp } from 'node:fs/promises'
import path from 'node:path'
import { ClickHouseError } from '@clickhouse/client'
import { expect } from 'chai'
import { listBrokenDataParts, requireWholeTables } from '../../../shared/clickhouse/broken-data-parts.ts'
import { type ClickHouse, type OpenedClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { findUnreadableDataParts } from '../../../shared/clickhouse/embedded/explain-failed-open.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { inUse, rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { testLog } from '../../support/log.ts'
import { makeCorrection, makeReport } from '../../support/usage-event.ts'

describe('parts of ClickHouse that are broken', function () {
  this.timeout(30_000)
  let opened: OpenedClickHouse
  let client: ClickHouse

  before(async () => {
    opened = await createClickHouse('broken parts')
    client = opened.client
    const event = makeReport()
    const lines = [event, makeCorrection(event, { quantity: '2' })].map((row) => `${usageEventToLine(row)}\n`)
    await usageEventRepository(client).insertLines(Buffer.from(lines.join('')))
    await client.command({
      query: `INSERT INTO usage_dirty_slots SELECT 'n', 'a', 0, now(), 1, 1, now(), 1`,
    })
  })
  after(() => opened.close())
  afterEach(async () => {
    for (const { table, name } of await listBrokenDataParts(client))
      await client.command({
        query: `ALTER TABLE ${table} DROP DETACHED PART '${name}' SETTINGS allow_drop_detached = 1`,
      })
  })

  /** Puts a part aside, like ClickHouse does with an unreadable part. */
  const putAside = async (table: string) => {
    const [part] = await queryRows<{ name: string; path: string }>(
      client,
      `SELECT name, path FROM system.parts
        WHERE active AND database = currentDatabase() AND table = {table:String} LIMIT 1`,
      { table },
    )
    if (part === undefined) throw new Error(`${table} has no part`)
    await cp(part.path, path.join(part.path, '../detached', `broken-on-start_${part.name}`), {
      recursive: true,
    })
  }
  const refusalOf = (client: ClickHouse, log?: typeof testLog): Promise<unknown> =>
    requireWholeTables(client, log).then(
      () => undefined,
      (err: unknown) => err,
    )

  it('keep nobody from starting while there are none', async () => {
    expect(await refusalOf(client)).to.equal(undefined)
    expect(await refusalOf(client, testLog)).to.equal(undefined)
  })

  it('are named when they were of usage, with what to do, and nothing starts', async () => {
    await putAside('usage_events')
    for (const log of [undefined, testLog]) {
      const refusal = await refusalOf(client, log)
      expect(refusal).to.be.instanceOf(StartupError)
      expect(String(refusal)).to.match(
        /put aside parts of its tables that it could not read: usage_events \(\S+broken-on-start_202601\S+\); .+docs\/operations\.md says what to do/,
      )
    }
  })

  it('are not missed of what is kept for a day to find things sooner', async () => {
    await putAside('corrected_usage')
    expect(await refusalOf(client)).to.equal(undefined)
  })

  it('have rollups given up and made again where it was theirs, and no answer relies on them from then on', async () => {
    const epochs = rollupEpochRepository(client)
    await epochs.begin(1, 300, 1_700_000_000, 1)
    await epochs.use(1, 1_700_000_000, 1)
    await putAside('usage_dirty_slots')
    expect(String(await refusalOf(client))).to.contain('usage_dirty_slots')
    expect(inUse(await epochs.list())?.epoch).to.equal(1)
    expect(await refusalOf(client, testLog)).to.equal(undefined)
    expect(inUse(await epochs.list())).to.equal(undefined)
    expect(await listBrokenDataParts(client)).to.deep.equal([])
  })

  it('keep a server from loading its tables, which is said in one line', async () => {
    const says = {
      code: '722',
      type: 'ASYNC_LOAD_WAIT_FAILED',
      message: 'Load job failed: usage_events\nmore',
    }
    const server = Object.assign(Object.create(client) as ClickHouse, {
      query: () => Promise.reject(new ClickHouseError(says)),
    })
    const refusal = await refusalOf(server)
    expect(refusal).to.be.instanceOf(StartupError)
    expect(String(refusal)).to.match(
      /^StartupError: ClickHouse cannot load its tables: Load job failed: usage_events; .+docs\/operations\.md/,
    )
  })

  it('are found in the log of an engine that does not open', () => {
    const log = `2026.11.26 21:19:11.653149 [ 9454 ] {} <Error> tally.usage_events (dd8e): Part /d/1_1_1_0/ is broken and needs manual correction.
2026.11.26 21:19:11.653542 [ 9454 ] {} <Error> tally.usage_events (dd8e): while loading part 1_1_1_0 on path store/dd8/dd8e/1_1_1_0: Code: 107. DB::Exception: store/dd8/dd8e/1_1_1_0/data.bin doesn't exist: columns: columns format version: 1
2 columns:`
    expect(findUnreadableDataParts(log)).to.deep.equal([
      {
        table: 'tally.usage_events',
        part: '1_1_1_0',
        reason: "Code: 107. DB::Exception: store/dd8/dd8e/1_1_1_0/data.bin doesn't exist",
      },
    ])
    expect(findUnreadableDataParts('<Error> something else')).to.deep.equal([])
  })
})
