import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { randomInteger, seededRandom } from '../../../clients/reporter/simulate/seeded-random.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { ApiClient } from '../../support/api-client.ts'
import { runProgram } from '../../support/by-hand.ts'
import { SEED, tell } from '../../support/fault-seed.ts'
import { TRIAL } from '../../support/start-analyst-host.ts'
import { startServices, startSharedEngines } from '../../support/start-services.ts'
import { startTally } from '../../support/start-tally.ts'
import { until } from '../../support/until.ts'

/** A running Tally, and how its analysts and its operator reach it. */
interface Stage {
  api: ApiClient
  /** @returns the answer as TabSeparated */
  query: (text: string) => Promise<string>
  audit: () => Promise<{ code: number | null; output: string }>
  stop: () => Promise<void>
}

const RENAMES = 12
const ACCOUNTS = 100
/** What is promised, for a machine that has nothing else to do. */
const SEEN_WITHIN_MS = 5_000

type Balance = SchemaOf<'Balance'>

const keyOf = ({ account_id, metric_id, currency }: Balance): string =>
  `${account_id} ${metric_id ?? currency ?? ''}`

// Why a separate Tally: it measures how soon changes are copied, which other tests would delay.
async function startEmbedded(): Promise<Stage> {
  const tally = await startTally()
  const password = (await readFile(path.join(tally.dataFolder, 'analyst-password'), 'utf8')).trim()
  const headers = { authorization: `Basic ${Buffer.from(`analyst:${password}`).toString('base64')}` }
  return {
    api: new ApiClient(tally.url, tally.key),
    query: (text) => ask(tally.analystUrl, headers, text),
    audit: () => runProgram('operator/main', { DATA_DIR: tally.dataFolder }, 'audit', '--dimensions'),
    stop: () => tally.discard(),
  }
}

async function startAsProcesses(): Promise<Stage> {
  const engines = await startSharedEngines('copies')
  const services = await startServices(engines)
  const url = new URL(engines.env['CLICKHOUSE_URL'] ?? '')
  url.username = url.password = ''
  return {
    api: new ApiClient(services.url, services.key),
    query: (text) => ask(url.href, TRIAL, text.replaceAll('FROM ', 'FROM tally_analytics.')),
    audit: () => runProgram('operator/main', engines.env, 'audit', '--dimensions'),
    async stop() {
      await services.stop()
      await engines.close()
    },
  }
}

async function ask(url: string, headers: Record<string, string>, text: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers, body: text })
  const answer = await response.text()
  expect(response.status, answer).to.equal(200)
  return answer.trimEnd()
}

for (const [layout, start] of [
  ['npm start', startEmbedded],
  ['several processes', startAsProcesses],
] as const)
  describe(`what analysts read beside usage (${layout})`, function () {
    this.timeout(120_000)
    let stage: Stage
    before(async () => {
      stage = await start()
    })
    after(() => (stage as Stage | undefined)?.stop())

    it('shows a new name within seconds', async () => {
      const { id } = await stage.api.create<{ id: string }>('/v2/accounts', { name: 'first' })
      const took: number[] = []
      for (let n = 0; n < RENAMES; n++) {
        await stage.api.patch(`/v2/accounts/${id}`, { name: `name ${n}` })
        const startedAt = performance.now()
        await until(
          async () =>
            (await stage.query(`SELECT name FROM accounts WHERE account_id = '${id}'`)) === `name ${n}`,
        )
        took.push(performance.now() - startedAt)
      }
      took.sort((a, b) => a - b)
      tell(`seen after ${took.map(Math.round).join(', ')} ms`)
      expect(took.at(-1)).to.be.below(SEEN_WITHIN_MS)
    })

    it('says up to when it is complete', async () => {
      for (const view of ['grants', 'event_changes']) {
        const behind = `SELECT dateDiff('second', complete_up_to, now64(6)) FROM freshness WHERE view = '${view}'`
        expect(await stage.query(behind), view).to.match(/^1?\d$/)
      }
    })

    it('has the balances that the API has', async () => {
      const { api, query } = stage
      const random = seededRandom(`balances ${SEED}`)
      const now = Math.floor(Date.now() / 1_000)
      const one = <T>(items: readonly T[]): T => items[randomInteger(random, items.length)] as T
      const make = async (target: string, body: object = { name: 'n' }) =>
        (await api.create<{ id: string }>(target, body)).id
      const accounts: string[] = []
      while (accounts.length < ACCOUNTS) accounts.push(await make('/v2/accounts'))
      const metrics = [await make('/v2/metrics'), await make('/v2/metrics')]
      const sources = [{ metric_id: metrics[0] }, { metric_id: metrics[1] }, { currency: 'usd' }]
      const quantity = () =>
        `${randomInteger(random, 1e9)}.${String(1 + randomInteger(random, 1e9)).padStart(18, '0')}`
      for (let n = 0; n < 2 * ACCOUNTS; n++) {
        const times = one([
          { effective_at: 0 },
          { effective_at: 0, expires_at: now - 60 },
          { effective_at: now + 3_600 },
        ])
        const id = await make('/v2/grants', {
          account_id: one(accounts),
          amount: quantity(),
          ...one(sources),
          ...times,
        })
        if (randomInteger(random, 4) === 0) await api.post(`/v2/grants/${id}/void`, {})
      }
      const events = Array.from({ length: 1_000 }, () => ({
        account_id: one(accounts),
        ...one(sources),
        quantity: quantity(),
        occurred_at: now - randomInteger(random, 40 * 86_400),
      }))
      await api.create('/v2/events/batch', { events })
      const balances = async () => {
        const { body } = await api.get<{ data: Balance[] }>(
          `/v2/accounts/balances?account_ids=${accounts.join()}`,
        )
        return body.data
      }
      await until(async () => (await balances()).filter((line) => line.usage_total !== '0').length > ACCOUNTS)
      const differing = async () => {
        const expected = new Map((await balances()).map((line) => [keyOf(line), line]))
        const text = await query(
          `SELECT account_id, ifNull(metric_id, currency), granted, used, balance, balance_38 FROM balances WHERE account_id IN ('${accounts.join("', '")}')`,
        )
        const rows = new Map(
          text.split('\n').map((line) => {
            const [account = '', source = '', ...amounts] = line.split('\t')
            return [`${account} ${source}`, amounts.join(' ')]
          }),
        )
        const lines = [...expected].map(([key, { grant_total, usage_total, balance }]) => {
          const found = rows.get(key) ?? '0 0 0 0'
          const right = `${grant_total} ${usage_total} ${balance} ${balance}`
          return found === right ? '' : `${key}: ${found}, not ${right}`
        })
        expect(rows.size).to.be.above(ACCOUNTS)
        return lines.filter((line) => line !== '')
      }
      // Usage and copies arrive within seconds.
      await until(async () => (await differing()).length === 0).catch(() => undefined)
      expect(await differing()).to.deep.equal([])
    })

    it('passes npm run audit -- --dimensions', async () => {
      const { code, output } = await stage.audit()
      expect(code, output).to.equal(0)
      expect(output)
        .to.match(new RegExp(`^accounts +${ACCOUNTS + 1} rows, digest`, 'm'))
        .and.to.contain('the copies are equal')
    })
  })
