import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { readRollupConfig } from '../../../services/rollup/config.ts'
import { openClickHouse, type OpenedClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { readClickHouseServerConfig } from '../../../shared/clickhouse/config.ts'
import { IS_MARK, STANDS } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { type RollupEpoch, rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { ROLLUP_TABLES } from '../../../shared/clickhouse/rollups/rollup-table-names.ts'
import { EnvReader } from '../../../shared/config/env-reader.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { ApiClient } from '../../support/api-client.ts'
import { runProgram } from '../../support/by-hand.ts'
import { endWithUs } from '../../support/end-with-us.ts'
import { openKeeper } from '../../support/rollup-keeper.ts'
import { EPOCH_CACHED_MS } from '../../support/rollup-stage.ts'
import {
  type RunningServices,
  type SharedEngines,
  startServices,
  startSharedEngines,
} from '../../support/start-services.ts'
import { startTally } from '../../support/start-tally.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'
import { makeWorld } from '../../support/usage-world.ts'

const DAY_S = 86_400
/** The number of days. Every second day is empty, so that a rebuild computes each day separately and takes long. */
const DAYS = 80

describe('npm run rebuild', function () {
  this.timeout(120_000)
  let engines: SharedEngines
  let services: RunningServices
  let clickhouse: OpenedClickHouse
  let world: Awaited<ReturnType<typeof makeWorld>>
  let epochs: ReturnType<typeof rollupEpochRepository>
  let expected: string
  const now = Math.floor(Date.now() / 1_000)

  before(async () => {
    // Why separate services: the test deletes their rollups, crashes the rollup service, and replaces them by another
    // Tally.
    engines = await startSharedEngines('rebuild')
    services = await startServices(engines, {
      ROLLUP_PAUSE_MS: '100',
      ROLLUP_LATE_AFTER_S: '0',
    })
    const { database, queryTimeoutS, url } = readClickHouseServerConfig(new EnvReader(engines.env))
    clickhouse = await openClickHouse({ database, queryTimeoutS, url, connections: 2 })
    epochs = rollupEpochRepository(clickhouse.client)
    world = await makeWorld(new ApiClient(services.url, services.key))
    await world.reportAll(
      Array.from({ length: 300 }, (_, n) => ({
        ...(n % 3 === 0 ? { currency: 'usd' } : { metric_id: world.tokens }),
        quantity: `${n % 7}.25`,
        occurred_at: now - 2 * DAY_S * Math.floor((n * DAYS) / 600),
      })),
    )
    await world.counted(300)
    await until(async () => (await inUse()) !== undefined && (await marks()) === 0)
    expected = await answers()
  })
  after(async () => {
    await services.stop()
    await clickhouse.close()
    await engines.close()
  })

  const inUse = async (): Promise<RollupEpoch | undefined> =>
    (await epochs.list()).findLast(({ state }) => state === 'in use')
  const stateOf = async (epoch: number) => (await epochs.list()).find((one) => one.epoch === epoch)?.state
  const beingBuilt = () =>
    until(async () => (await epochs.list()).find(({ state }) => state === 'being built')?.epoch ?? false)
  const count = async (query: string): Promise<number> => {
    const [row] = await queryRows<{ n: string }>(
      clickhouse.client,
      `SELECT toString(count()) AS n FROM ${query}`,
      {},
    )
    return Number(row?.n)
  }
  const marks = () => count(`(SELECT insert_id FROM usage_dirty_slots WHERE ${IS_MARK} ${STANDS})`)
  const rowsOf = async (epoch: number): Promise<number> => {
    const counts = await Promise.all(ROLLUP_TABLES.map((table) => count(`${table} WHERE epoch = ${epoch}`)))
    return counts.reduce((sum, n) => sum + n, 0)
  }

  const splitMonths = (epoch: number) => `(SELECT partition FROM system.parts
    WHERE database = currentDatabase() AND active AND table = 'usage_by_day' AND startsWith(partition, '(${epoch},')
    GROUP BY partition HAVING count() > 1)`

  /** Reads all usage through rollups, by account and by namespace. */
  async function answers(url = services.url): Promise<string> {
    const api = new ApiClient(url, services.key)
    const range = `start_at=${now - (DAYS + 1) * DAY_S}&end_at=${now + 60}`
    const targets = [
      ...['sum', 'min', 'max', 'avg', 'latest', 'count'].map(
        (aggregation) => `/v2/accounts/${world.account}/usage?${range}&aggregation=${aggregation}`,
      ),
      `/v2/accounts/${world.account}/usage/daily?${range}`,
      `/v2/accounts/${world.account}/usage/monthly`,
      `/v2/accounts/${world.account}/balance?currency=usd`,
    ]
    const texts = await Promise.all(
      targets.map(async (target) => {
        const { status, text } = await api.get(target)
        expect(status, text).to.equal(200)
        return text
      }),
    )
    return texts.join('\n')
  }

  /** Runs another rollup service until a condition is true. It drops epochs sooner than the settings allow. */
  async function dropAfter(dropAfterS: number, holds: () => Promise<boolean>): Promise<void> {
    const keeper = openKeeper(clickhouse.client, { ...readRollupConfig(new EnvReader({})), dropAfterS })
    await until(holds).finally(() => keeper.close())
  }

  const rebuild = () => runProgram('operator/main', engines.env, 'rebuild')

  /** Begins a rebuild that a test ends early. */
  function begin(): { child: ChildProcess; ended: Promise<number | null>; output: () => string } {
    const main = path.join(PROJECT_ROOT, 'dist/services/operator/main.js')
    const child = spawn(process.execPath, [main, 'rebuild'], {
      env: { ...process.env, ...engines.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    endWithUs(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const ended = once(child, 'exit').then(([code]) => code as number | null)
    return { child, ended, output: () => output }
  }

  it('leaves every answer as it is, one at a time, and what was before is dropped later', async () => {
    const first = (await inUse())?.epoch ?? 0
    const { ended, output } = begin()
    let asked = 0
    const asking = { on: true }
    const answering = (async () => {
      for (; asking.on; asked++) {
        expect(await answers()).to.equal(expected)
        await sleep(300)
      }
    })()
    await beingBuilt()
    const second = await rebuild()
    expect([second.code, second.output]).to.deep.equal([1, 'rebuild is under way already: one at a time\n'])
    const code = await ended
    asking.on = false
    await answering
    expect(code, output()).to.equal(0)
    expect(asked).to.be.above(3)
    expect(output()).to.match(/^\[#*\.*\] \d+ of \d+ days$/m)
    expect(output()).to.contain(`readers use the rollups of epoch ${first + 1} now`)
    expect((await inUse())?.epoch).to.equal(first + 1)
    expect(await answers()).to.equal(expected)
    const stored = await rowsOf(first + 1)
    expect(stored).to.be.above(150)
    expect(await rowsOf(first)).to.be.above(150)
    expect(await count(splitMonths(first + 1)), 'months of days in more than one part').to.equal(0)
    await sleep(2_100)
    await dropAfter(1, async () => (await rowsOf(first)) === 0)
    expect(await rowsOf(first + 1)).to.be.at.least(stored)
    expect(await answers()).to.equal(expected)
  })

  it('is given up when it is interrupted, and begun anew by the next', async () => {
    const before = (await inUse())?.epoch ?? 0
    const { child, ended, output } = begin()
    const epoch = await beingBuilt()
    child.kill('SIGINT')
    expect(await ended, output()).to.equal(1)
    expect(output()).to.contain('rebuild was stopped before it was done')
    expect([(await inUse())?.epoch, await stateOf(epoch)]).to.deep.equal([before, 'given up'])
    expect(await answers()).to.equal(expected)
    const next = await rebuild()
    expect(next.code, next.output).to.equal(0)
    expect((await inUse())?.epoch).to.equal(epoch + 1)
    expect(await answers()).to.equal(expected)
  })

  it('changes nothing when it is killed, and is begun anew by the next', async () => {
    const before = (await inUse())?.epoch ?? 0
    const { child, ended } = begin()
    const epoch = await beingBuilt()
    child.kill('SIGKILL')
    expect(await ended).to.equal(null)
    expect((await inUse())?.epoch).to.equal(before)
    expect(await answers()).to.equal(expected)
    // PostgreSQL may need a moment to notice that the holder of the lock has ended.
    await until(async () => (await rebuild()).code === 0, 30_000)
    expect([(await inUse())?.epoch, await stateOf(epoch)]).to.deep.equal([epoch + 1, 'given up'])
    expect(await answers()).to.equal(expected)
  })

  describe('without rollups', () => {
    const forget = async () => {
      for (const table of [...ROLLUP_TABLES, 'rollup_epochs'])
        await clickhouse.client.command({ query: `TRUNCATE TABLE ${table}` })
      await clickhouse.client.command({
        query: 'INSERT INTO rollup_epochs (epoch, slot_s, state) VALUES (0, 300, 2)',
      })
      await sleep(EPOCH_CACHED_MS) // only a test deletes an epoch that a process uses
    }
    before(async () => {
      await services.rollup.stop()
      await forget()
    })

    it('the first are built by the rollup service, which begins anew wherever it crashes', async () => {
      expect(await answers()).to.equal(expected)
      for (const point of ['rollup-building', 'rollup-built']) {
        await services.rollup.restart({ CRASH_AT: `${point}:1` }).catch((err: unknown) => {
          expect(String(err)).to.contain('rollup ended') // it crashed before it was ready
        })
        await until(() => Promise.resolve(services.rollup.process.signalCode !== null), 60_000)
        expect(await inUse()).to.equal(undefined)
        expect(await answers()).to.equal(expected)
      }
      await services.rollup.restart()
      const { epoch } = await until(async () => (await inUse()) ?? false, 60_000)
      expect(epoch).to.equal(3)
      expect([await stateOf(1), await stateOf(2)]).to.deep.equal(['given up', 'given up'])
      expect(await answers()).to.equal(expected)
    })

    it('Tally in one process is ready and exact, and says in log and metrics that it cannot build them', async () => {
      await services.stop()
      await forget()
      await clickhouse.client.command({ query: 'RENAME TABLE usage_by_day_total TO put_away' })
      const dataFolder = path.join(await makeTempFolder('rebuild'), 'data')
      await mkdir(dataFolder, { mode: 0o700 })
      await writeFile(path.join(dataFolder, 'api-key'), services.key, { mode: 0o600 })
      await writeFile(path.join(dataFolder, 'test-api-key'), services.testKey, { mode: 0o600 })
      const tally = await startTally({ dataFolder, env: { ...engines.env, ROLLUP_PAUSE_MS: '100' } })
      try {
        const ask = async (target: string) => (await fetch(`${tally.adminUrl}/${target}`)).text()
        await until(async () =>
          /^tally_rollup_failures_total\{step="build"\} [2-9]/m.test(await ask('metrics')),
        )
        expect(tally.output()).to.contain('could not compute rollups, trying again')
        expect([await ask('readyz'), await ask('livez')]).to.deep.equal(['ok', 'ok'])
        expect(await answers(tally.url)).to.equal(expected)
      } finally {
        await clickhouse.client.command({ query: 'RENAME TABLE put_away TO usage_by_day_total' })
        await tally.discard()
      }
    })
  })
})
