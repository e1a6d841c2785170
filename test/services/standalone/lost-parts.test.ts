import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import { runCommand } from '../../support/by-hand.ts'
import { findFreePort } from '../../support/free-port.ts'
import { type RunningTally, startTally } from '../../support/start-tally.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'
import { makeWorld } from '../../support/usage-world.ts'

describe('a ClickHouse that has lost a part', function () {
  this.timeout(120_000)
  let place: string
  let dataFolder: string
  let adminPort: number
  let tally: RunningTally
  let folderOfEvents: string
  let part: string

  // Why a separate Tally: the test deletes files of its ClickHouse.
  before(async () => {
    place = await makeTempFolder('lost-parts')
    dataFolder = path.join(place, 'data')
    adminPort = await findFreePort()
    tally = await start()
    const world = await makeWorld(new ApiClient(tally.url, tally.key))
    await world.reportAll(
      Array.from({ length: 20 }, (_, n) => ({
        metric_id: world.tokens,
        quantity: '1',
        occurred_at: Date.UTC(2026, 5, 1) / 1_000 + n,
        idempotency_key: `event ${n}`,
      })),
    )
    await world.counted(20)
    await until(async () => /^counted by month +20$/m.test(await audited()))
    expect(await tally.stop()).to.equal(0)
    folderOfEvents = await folderOf('usage_events')
    const parts = (await readdir(folderOfEvents)).filter((name) => name.startsWith('202606_'))
    expect(parts, 'parts that it could be made of again').to.have.length(1)
    part = parts[0] ?? ''
  })
  after(() => rm(place, { recursive: true, force: true }))

  const start = () =>
    startTally({
      dataFolder,
      env: { ADMIN_PORT: String(adminPort), ROLLUP_COUNT_EVERY_S: '1', ROLLUP_COUNT_AFTER_S: '0' },
    })
  const refusal = () =>
    start().then(
      () => 'it started',
      (err: unknown) => String(err),
    )
  const audited = async () => (await runCommand(dataFolder, 'audit')).output
  const gauge = async (name: string) => {
    const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  }

  /** Where ClickHouse has the parts of a table. */
  const folderOf = async (table: string): Promise<string> => {
    const store = path.join(dataFolder, 'clickhouse/store')
    const files = await readdir(store, { recursive: true })
    const file = files.find((name) => name.endsWith(`/${table}.sql`)) ?? ''
    const [, uuid = ''] = /UUID '([^']+)'/.exec(await readFile(path.join(store, file), 'utf8')) ?? []
    return path.join(store, uuid.slice(0, 3), uuid)
  }

  it('does not start: the last line says which part of which table, why, and where to read on', async () => {
    const file = ['data.bin', 'quantity.bin'].find((name) =>
      existsSync(path.join(folderOfEvents, part, name)),
    )
    await rm(path.join(folderOfEvents, part, file ?? ''))
    const lines = (await refusal()).trim().split('\n')
    expect(lines.at(-1))
      .to.match(
        /^ClickHouse has lost usage, or what is made of it: \S+ of tally\.usage_events cannot be read \(/,
      )
      .and.to.contain(`${part} of tally.usage_events`)
      .and.to.contain('.bin')
      .and.to.contain('docs/operations.md says what to do under "When ClickHouse has lost a part"')
    // Nothing was put aside, so the part can still be repaired.
    expect(await readdir(path.join(folderOfEvents, 'detached'))).to.deep.equal([])
    expect(existsSync(path.join(folderOfEvents, part))).to.equal(true)
  })

  it('does not start either with parts that were put aside on purpose, until they are taken away', async () => {
    const flags = path.join(dataFolder, 'clickhouse/flags')
    await mkdir(flags, { recursive: true })
    await writeFile(path.join(flags, 'force_restore_data'), '')
    expect(await refusal()).to.match(
      /Error: Tally did not start: ClickHouse has put aside parts of its tables that it could not read: usage_events \(\S+broken-on-start_202606\S+\); .+docs\/operations\.md says what to do[^\n]+\n$/,
    )
    const detached = path.join(folderOfEvents, 'detached')
    const [name = ''] = await readdir(detached)
    await rename(path.join(detached, name), path.join(place, name))
    tally = await start()
  })

  it('is found out by the count, the doctor and the audit, though nothing in ClickHouse tells', async () => {
    await until(async () => (await gauge('tally_usage_missing_events')) === 20)
    expect(await gauge('tally_clickhouse_broken_parts')).to.equal(0)
    const doctor = await runCommand(dataFolder, 'doctor')
    expect(doctor.code).to.equal(1)
    expect(doctor.output).to.match(/^failed +usage counted: ClickHouse has lost 20 events of 2026-06/m)
    expect(await audited()).to.contain('MISSING: 20 of 20 events that occurred in 2026-06')
    expect(tally.output()).to.contain('ClickHouse has lost usage that was counted before')
    await tally.stop()
  })
})
