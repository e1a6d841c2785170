import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { BackupManifest } from '../../services/operator/backup/backup-manifest.ts'
import { ApiClient } from '../support/api-client.ts'
import type { PreviewBody } from '../support/billing-over-http.ts'
import { type CommandResult, runCommand, runProgram } from '../support/by-hand.ts'
import { type RunningTally, startTally } from '../support/start-tally.ts'
import { makeTempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'
import { type EventBody, makeWorld } from '../support/usage-world.ts'

const DAY_S = 86_400
const NOW = Math.floor(Date.now() / 1_000)

interface Reported {
  id: string
  /** When the 202 had arrived, in milliseconds. */
  at: number
}

describe('a backup of a running npm start', function () {
  this.timeout(240_000)
  let folder: string
  let tally: RunningTally
  let world: Awaited<ReturnType<typeof makeWorld>>
  let manifest: BackupManifest
  let contract: string
  let known: { at: number; text: string }
  const reported: Reported[] = []
  const at = (name: string) => path.join(folder, name)

  before(async () => {
    folder = await makeTempFolder('backup')
    // Why a separate Tally: it is backed up whole, killed, and deleted.
    tally = await startTally()
    const api = new ApiClient(tally.url, tally.key)
    world = await makeWorld(api)
    contract = await makeContract(api)
    const load = startLoad()
    await until(() => Promise.resolve(reported.length > 300))
    known = await previewNow(api)
    const backup = await runCommand(tally.dataFolder, 'backup', at('backup'))
    expect(backup.code, backup.output).to.equal(0)
    expect(tally.output()).not.to.contain('MaxListenersExceededWarning')
    await sleep(300)
    await load.stop()
    manifest = JSON.parse(await readFile(at('backup/tally-backup.json'), 'utf8')) as BackupManifest
  })
  after(async () => {
    await tally.discard()
    await rm(folder, { recursive: true, force: true })
  })

  async function makeContract(api: ApiClient): Promise<string> {
    const idOf = async (target: string, body: object) => (await api.create<{ id: string }>(target, body)).id
    const product_id = await idOf('/v2/products', { name: 'p' })
    const terms = { product_id, currency: 'usd', model: 'per_unit', unit_amount: '2' }
    const price_id = await idOf('/v2/prices', terms)
    const rates = [{ metric_id: world.tokens, price_id }]
    const rate_card_id = await idOf('/v2/rate-cards', { name: 'c', currency: 'usd', rates })
    return idOf('/v2/contracts', {
      account_id: world.account,
      currency: 'usd',
      cadence: 'month',
      starts_at: NOW - 10 * DAY_S,
      lines: [{ rate_card_id }],
    })
  }

  /** Reports usage time and again, some of it late and some twice, and corrects some. */
  function startLoad() {
    const api = new ApiClient(tally.url, tally.key)
    let goesOn = true
    const run = async () => {
      for (let n = 0; goesOn; n++) {
        // The last event of a batch is the first of the next one, too.
        const sent = Array.from({ length: 20 }, (_, i) => n * 19 + i).map((k) => ({
          account_id: world.account,
          metric_id: world.tokens,
          quantity: '1.5',
          occurred_at: k % 4 === 0 ? NOW - (1 + (k % 5)) * DAY_S : NOW,
          idempotency_key: String(k),
        }))
        const { event_ids: ids } = await api.create<{ event_ids: string[] }>('/v2/events/batch', {
          events: sent,
        })
        reported.push(...ids.map((id) => ({ id, at: Date.now() })))
        if (n % 3 === 0)
          await until(async () => {
            const { status } = await api.patch(`/v2/events/${ids[5] ?? ''}`, { quantity: '4' })
            return status === 200 || status === 202
          })
      }
    }
    const running = run()
    return {
      stop: () => {
        goesOn = false
        return running
      },
    }
  }

  /** A preview of what is known now, which must stay as it is. */
  async function previewNow(api: ApiClient): Promise<{ at: number; text: string }> {
    const { body } = await api.post<PreviewBody>('/v2/invoice-previews', { contract_id: contract })
    return { at: body.usage_as_of, text: await previewAsOf(api, body.usage_as_of) }
  }

  async function previewAsOf(api: ApiClient, known_at: number): Promise<string> {
    const body = { contract_id: contract, known_at }
    return until(async () => {
      const { status, text } = await api.post('/v2/invoice-previews', body)
      return status === 200 && text
    })
  }

  const restore = (from: string, dataFolder: string, ...options: string[]): Promise<CommandResult> =>
    runProgram(
      'standalone/restore.main',
      { DATA_DIR: dataFolder, KAFKA_BROKERS: '', REDIS_URL: '', UV_THREADPOOL_SIZE: '16', LOG_LEVEL: 'warn' },
      at(from),
      ...options,
    )

  const expectRefused = ({ code, output }: CommandResult, reason: string) => {
    expect(output).to.contain(reason)
    expect(code).to.equal(1)
  }

  async function listEvents(api: ApiClient): Promise<EventBody[]> {
    const listed: EventBody[] = []
    for (let after = ''; ;) {
      const { body } = await api.get<{ data: EventBody[]; has_more: boolean }>(
        `/v2/events?account_id=${world.account}${after}`,
      )
      listed.push(...body.data)
      if (!body.has_more) return listed
      after = `&starting_after=${listed.at(-1)?.id ?? ''}`
    }
  }

  async function countUsage(api: ApiClient): Promise<number> {
    const { body } = await api.get<{ events_consumed: { quantity: string }[] }>(
      `/v2/accounts/${world.account}/usage?start_at=0&end_at=4294967295&aggregation=count`,
    )
    return Number(body.events_consumed[0]?.quantity)
  }

  it('has ClickHouse first: what that lacks is in the log of the PostgreSQL that follows', () => {
    const { clickhouse, postgres } = manifest
    expect(clickhouse.endedAt <= (postgres?.beganAt ?? '')).to.equal(true)
  })

  it('is not restored without a manifest, over other data, under a running Tally, or with the log of one', async () => {
    await mkdir(at('nothing'))
    expectRefused(await restore('nothing', at('into')), 'is no backup: it has no tally-backup.json')
    await mkdir(at('full'))
    await writeFile(at('full/file'), '')
    expectRefused(await restore('backup', at('full')), 'is not empty (file)')
    expectRefused(await restore('backup', tally.dataFolder), 'is in use by process')
    const besideKafka = { KAFKA_BROKERS: '127.0.0.1:1' }
    expectRefused(
      await runProgram('standalone/restore.main', besideKafka, at('backup'), '--into', at('into')),
      '--into would set back the loaders',
    )
    const server = 'postgres://127.0.0.1:1/tally'
    const besideServer = { KAFKA_BROKERS: '', DATABASE_URL: server, DATABASE_OWNER_URL: server }
    expectRefused(
      await runProgram('standalone/restore.main', besideServer, at('backup'), '--into', at('into')),
      'with DATABASE_URL, --into would set back the loaders',
    )
  })

  it('is replaced by the next one, which removes what a killed one left, and no folder elsewhere', async () => {
    const next = at('next')
    const file = at('next/tally-backup.json')
    await mkdir(next, { mode: 0o755 })
    const backUp = () => runCommand(tally.dataFolder, 'backup', next)
    expect((await backUp()).code).to.equal(0)
    const first = JSON.parse(await readFile(file, 'utf8')) as BackupManifest
    await mkdir(at('next/postgres-20200101T000000000Z'))
    await mkdir(at('other'))
    await writeFile(file, JSON.stringify({ ...first, postgres: { ...first.postgres, path: '../other' } }))
    expect((await backUp()).output).to.contain('is damaged')
    await writeFile(file, JSON.stringify(first))
    expect((await backUp()).code).to.equal(0)
    const second = JSON.parse(await readFile(file, 'utf8')) as BackupManifest
    const parts = [first.clickhouse.path, second.clickhouse.path, second.postgres?.path]
    expect((await readdir(next)).sort()).to.deep.equal([...parts, 'tally-backup.json'].sort())
    for (const part of parts) expect((await stat(at(`next/${part ?? ''}`))).mode & 0o077).to.equal(0)
    expect(existsSync(at('other'))).to.equal(true)
  })

  it('is not written into the data folder, also through a link', async () => {
    const inside = path.join(tally.dataFolder, '..backup')
    expect((await runCommand(tally.dataFolder, 'backup', inside)).output).to.contain('is in the data folder')
    await symlink(tally.dataFolder, at('link'))
    expect((await runCommand(tally.dataFolder, 'backup', at('link/x'))).output).to.contain(
      'is in the data folder',
    )
    await rm(path.join(tally.dataFolder, 'x'), { recursive: true })
  })

  it('is not restored when a month has fewer events than were counted', async () => {
    const { events } = manifest
    const [month = ''] = Object.keys(events)
    const more = Object.fromEntries(
      Object.entries(events[month] ?? {}).map(([id, count]) => [id, count + 1_000_000]),
    )
    const file = at('backup/tally-backup.json')
    await writeFile(file, JSON.stringify({ ...manifest, events: { ...events, [month]: more } }))
    expectRefused(await restore('backup', at('into')), `events that occurred in ${month}`)
    expect(existsSync(at('into/postgres'))).to.equal(false)
    await writeFile(file, JSON.stringify(manifest))
  })

  it('has each event once that was acknowledged before PostgreSQL followed, and previews as they were', async () => {
    const { key } = tally
    await tally.kill9()
    await tally.discard()
    const restored = await restore('backup', at('elsewhere'), '--into', at('into'))
    expect(restored.code, restored.output).to.equal(0)
    tally = await startTally({ dataFolder: at('into') })
    expect(tally.key).to.equal(key)
    const api = new ApiClient(tally.url, tally.key)
    const began = Date.parse(manifest.postgres?.beganAt ?? '')
    const acknowledged = reported.filter((event) => event.at < began)
    expect(acknowledged.length).to.be.greaterThan(300)
    const count = await countUsage(api)
    const listed = (await listEvents(api)).map(({ id }) => id)
    const found = new Set(listed)
    expect(found.size, 'each once').to.equal(listed.length)
    expect(acknowledged.filter(({ id }) => !found.has(id))).to.deep.equal([])
    expect(count).to.equal(listed.length)
    const audit = await runCommand(tally.dataFolder, 'audit')
    expect(audit.output).to.contain('everything adds up')
    expect(audit.code, audit.output).to.equal(0)
    expect(await previewAsOf(api, known.at)).to.equal(known.text)
  })
  it('gives ClickHouse alone back, and every acknowledged event from the log of the PostgreSQL that was kept', async () => {
    const before = await countUsage(new ApiClient(tally.url, tally.key))
    const events = Array.from({ length: 20 }, () => ({
      account_id: world.account,
      metric_id: world.tokens,
      quantity: '1',
    }))
    await new ApiClient(tally.url, tally.key).create('/v2/events/batch', { events })
    await tally.kill9()
    await rm(at('into/clickhouse'), { recursive: true })
    const restored = await restore('backup', at('into'), '--keep-postgres')
    expect(restored.code, restored.output).to.equal(0)
    tally = await startTally({ dataFolder: at('into') })
    expect(await countUsage(new ApiClient(tally.url, tally.key))).to.equal(before + 20)
    expect((await runCommand(tally.dataFolder, 'audit')).output).to.contain('everything adds up')
  })
})
