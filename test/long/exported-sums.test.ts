import path from 'node:path'
import { expect } from 'chai'
import { randomInteger, seededRandom } from '../../clients/reporter/simulate/seeded-random.ts'
import type { SchemaOf } from '../../shared/http/operation.ts'
import { exportWith } from '../clients/core/run-program.ts'
import { askAt } from '../support/analysts.ts'
import { ApiClient } from '../support/api-client.ts'
import { runCommand } from '../support/by-hand.ts'
import { untilChangesComplete } from '../support/complete-changes.ts'
import { SEED } from '../support/fault-seed.ts'
import { copyPrograms, installPython, requirePrograms, runIn } from '../support/programs.ts'
import { type RunningTally, startTally } from '../support/start-tally.ts'
import { makeTempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const ACCOUNTS = 5
const EVENTS = 600
const CHANGES = 80
const RUNS = 3
const LIBRARIES = ['pyarrow', 'polars', 'duckdb']
type Usage = SchemaOf<'AccountUsage'>

describe('the sums of exported files', function () {
  this.timeout(900_000)
  let tally: RunningTally
  let api: ApiClient
  let programs: string
  let folder: string
  let password: string
  const random = seededRandom(`sums of exports ${SEED}`)
  const accounts: string[] = []
  const sources: ({ metric_id: string } | { currency: string })[] = [{ currency: 'usd' }]
  const events: string[] = []
  const voided = new Set<string>()

  before(async function () {
    requirePrograms(this, 'REQUIRE_PYTHON', [['python3', '--version']])
    programs = await copyPrograms('clients/analysts/python')
    await installPython(programs)
    // Why a separate Tally: analysts of one company see all of its usage.
    tally = await startTally()
    api = new ApiClient(tally.url, tally.key)
    const make = async (target: string) => (await api.create<{ id: string }>(target, { name: 'n' })).id
    for (let n = 0; n < ACCOUNTS; n++) accounts.push(await make('/v2/accounts'))
    for (let n = 0; n < 2; n++) sources.push({ metric_id: await make('/v2/metrics') })
    const { output } = await runCommand(tally.dataFolder, 'analysts', 'add', '--name', 'ada')
    password = /^password +(\S+)$/m.exec(output)?.[1] ?? ''
    folder = await makeTempFolder('sums')
  })
  after(() => (tally as RunningTally | undefined)?.discard())

  const one = <T>(items: readonly T[]): T => items[randomInteger(random, items.length)] as T
  const quantity = () =>
    `${randomInteger(random, 1e9)}.${String(1 + randomInteger(random, 1e9)).padStart(18, '0')}`
  const ask = async (query: string) => {
    const { status, text } = await askAt(tally.analystUrl, query, {}, { authorization: `Bearer ${password}` })
    expect(status, text).to.equal(200)
    return text
  }

  /** Reports usage, and corrects and voids some of all that was reported. */
  async function change(): Promise<void> {
    const now = Math.floor(Date.now() / 1_000)
    const { event_ids: ids } = await api.create<SchemaOf<'UsageEventBatchTaken'>>('/v2/events/batch', {
      events: Array.from({ length: EVENTS }, () => ({
        account_id: one(accounts),
        ...one(sources),
        quantity: quantity(),
        occurred_at: now - randomInteger(random, 40 * 86_400),
      })),
    })
    events.push(...ids)
    await until(async () => Number(await ask('SELECT count() FROM event_changes')) === events.length)
    for (let n = 0; n < CHANGES; n++) {
      const id = one(events)
      if (voided.has(id)) continue
      const isVoid = n % 4 === 0
      const { status, text } = await (isVoid
        ? api.post(`/v2/events/${id}/void`, {})
        : api.patch(`/v2/events/${id}`, { quantity: quantity() }))
      expect(status, text).to.equal(202)
      if (isVoid) voided.add(id)
    }
    await untilChangesComplete(ask)
    expect(await ask('SELECT countIf(is_void) FROM event_changes')).to.equal(`${voided.size}\n`)
  }

  /** @returns the lines that each library must print */
  async function sumsOfApi(): Promise<string[]> {
    const lines: string[] = []
    for (const account of accounts) {
      const { body } = await api.get<Usage>(`/v2/accounts/${account}/usage?start_at=0&end_at=4294967295`)
      for (const { metric_id: metric, currency, quantity: sum } of body.events_consumed) {
        const [whole = '', fraction = ''] = sum.split('.')
        lines.push(`${account} ${metric ?? currency ?? ''} ${whole}.${fraction.padEnd(18, '0')}`)
      }
    }
    return lines.sort()
  }

  it('are those of the API in pyarrow, polars and DuckDB, whatever was corrected and voided', async () => {
    const folders: string[] = []
    let since: string | undefined
    for (let run = 0; run < RUNS; run++) {
      await change()
      const dir = path.join(folder, String(run))
      folders.push(dir)
      const words = [
        '--url',
        tally.analystUrl,
        '--view',
        'event_changes',
        '--format',
        'parquet',
        '--dir',
        dir,
      ]
      const { code, err } = await exportWith([...words, ...(since === undefined ? [] : ['--since', since])], {
        env: { CLICKHOUSE_USER: 'ada', CLICKHOUSE_PASSWORD: password },
      })
      expect(code, err).to.equal(0)
      since = /--since (\S+)/.exec(err)?.[1]
      const expected = await sumsOfApi()
      expect(expected).to.have.length(ACCOUNTS * sources.length)
      const printed = (await runIn(programs, 'venv/bin/python', ['sum_exports.py', ...folders]))
        .trimEnd()
        .split('\n')
      for (const library of LIBRARIES)
        expect(
          printed.flatMap((line) => (line.startsWith(`${library} `) ? [line.slice(library.length + 1)] : [])),
          `${library}, export ${run + 1}`,
        ).to.deep.equal(expected)
    }
  })
})
