import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ANALYST_PASSWORD_FILE } from '../services/standalone/data-folder.ts'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'
import { formatTable } from '../shared/text/format-table.ts'
import { type RunningTally, startTally } from '../test/support/start-tally.ts'
import { buildDataSet } from './data-set/build-data-set.ts'
import { type DataSet, openUsage } from './data-set/data-set.ts'
import { accountId, ACCOUNTS, CURRENCY, MODELS } from './data-set/made-up-events.ts'
import { type Latencies, summarise, timeOf } from './latencies.ts'
import { describeMachine, saveResult } from './machine.ts'
import type { List, Named } from './made-cards.ts'
import { watchMemory } from './memory.ts'
import { scrape } from './scrape.ts'
import { type TallyClient, tallyClient } from './tally-client.ts'

export interface BenchRatedOptions {
  events: number
  /** The folder of the data set, which is made if it is missing. Contracts are added to it, unless it has them. */
  folder: string
  contracts: number
  /** How often each question is asked. */
  requests: number
  save: string
  print: (line: string) => void
}

const DAY_S = 86_400
const CARD = 'bench-rated'
/** Each contract has this many months, the last of which is under way. */
const MONTHS = 3
const QUESTIONS = ['23-revenue-by-model-by-day', '23-unrated-usage']
const LOOK_MS = 1_000
const RATED_WITHIN_MS = 3_600_000

/**
 * Measures how contracts are rated for the view `rated_usage`, all of them in the first run after a start: the time of
 * a period, periods a second and memory. Then it asks the questions of the guide that read the view.
 */
export async function benchRated(options: BenchRatedOptions): Promise<void> {
  const { events, folder, contracts, requests, save, print } = options
  print(describeMachine())
  const dataSet = await buildDataSet(folder, events, print)
  const first = await startTally({ dataFolder: dataSet.folder, env: { LOG_LEVEL: 'error' } })
  await makeContracts(tallyClient(first), dataSet, contracts)
  await first.stop()
  await forgetRatings(dataSet)
  const tally = await startTally({ dataFolder: dataSet.folder, env: { LOG_LEVEL: 'error' } })
  try {
    const memory = watchMemory(tally.process.pid ?? 0)
    const before = await memoryNow(tally)
    const rating = await untilRated(tally, contracts * MONTHS, print)
    const most = memory.stop()
    const result = { ...rating, memoryGb: { before, most: most.self } }
    print(JSON.stringify(result))
    const questions: (Latencies & { name: string })[] = []
    for (const name of QUESTIONS)
      questions.push({ name, ...(await askOften(tally, dataSet, name, requests)) })
    const cells = questions.map(({ name, count, p50Ms, maxMs }) => [
      name,
      String(count),
      ...[p50Ms, maxMs].map((ms) => ms.toFixed(0)),
    ])
    for (const line of formatTable(['question', 'asked', 'p50 ms', 'max ms'], cells, 1)) print(line)
    await saveResult(save, { bench: 'rated', events, contracts, rating: result, questions })
  } finally {
    await tally.stop()
  }
}

/**
 * Makes contracts with prices by model for one metric, and no rate for the other one, unless the data set has them.
 */
async function makeContracts(client: TallyClient, { metrics }: DataSet, contracts: number): Promise<void> {
  const { data } = await client.get<List>(`/v2/rate-cards?external_id=${CARD}`)
  if (data.length > 0) return
  const { id: product_id } = await client.create<Named>('/v2/products', { name: CARD })
  const terms = { product_id, currency: CURRENCY, model: 'per_unit', unit_amount: '3', per: '1000000' }
  const { id: price_id } = await client.create<Named>('/v2/prices', terms)
  const prices = MODELS.map((value) => ({ value, price_id }))
  const rates = [{ metric_id: metrics[0], group_by: 'model', prices, price_id }]
  const body = { name: CARD, external_id: CARD, currency: CURRENCY, rates }
  const { id: rate_card_id } = await client.create<Named>('/v2/rate-cards', body)
  const began = new Date()
  const starts_at = Date.UTC(began.getUTCFullYear(), began.getUTCMonth() - MONTHS + 1) / 1_000
  for (let nth = 0; nth < contracts; nth++)
    await client.create('/v2/contracts', {
      account_id: accountId(Math.floor((nth * ACCOUNTS) / contracts)),
      currency: CURRENCY,
      cadence: 'month',
      anchor_at: starts_at,
      starts_at,
      lines: [{ rate_card_id }],
    })
}

/** The next run rates everything again. */
async function forgetRatings({ folder }: DataSet): Promise<void> {
  const usage = await openUsage(folder)
  try {
    for (const table of ['rated_periods', 'rating_runs'])
      await usage.client.command({ query: `TRUNCATE TABLE ${table}` })
  } finally {
    await usage.close()
  }
}

const memoryNow = async (tally: RunningTally): Promise<number> => {
  const memory = watchMemory(tally.process.pid ?? 0)
  await sleep(LOOK_MS)
  return memory.stop().self
}

/** Waits until so many periods are rated. */
async function untilRated(tally: RunningTally, periods: number, print: (line: string) => void) {
  const look = async () => {
    const scraped = await scrape(tally.adminUrl)
    return {
      periods: scraped.sum('tally_rating_duration_seconds_count'),
      seconds: scraped.sum('tally_rating_duration_seconds_sum'),
    }
  }
  const deadline = performance.now() + RATED_WITHIN_MS
  let beganAt: number | undefined
  for (let tick = 0; ; tick++) {
    const rated = await look()
    if (rated.periods > 0) beganAt ??= performance.now()
    if (rated.periods >= periods) {
      const tookS = (performance.now() - (beganAt ?? performance.now())) / 1_000
      return {
        periods: rated.periods,
        tookS,
        meanMs: (rated.seconds * 1_000) / rated.periods,
        perS: rated.periods / tookS,
      }
    }
    if (performance.now() > deadline) throw new Error(`only ${rated.periods} of ${periods} periods are rated`)
    if (tick % 10 === 0) print(`rated ${rated.periods} of ${periods} periods`)
    await sleep(LOOK_MS)
  }
}

async function askOften(
  { analystUrl }: RunningTally,
  { folder }: DataSet,
  name: string,
  times: number,
): Promise<Latencies> {
  const password = (await readFile(path.join(folder, ANALYST_PASSWORD_FILE), 'utf8')).trim()
  const authorization = `Basic ${Buffer.from(`analyst:${password}`).toString('base64')}`
  const body = await readFile(path.join(PROJECT_ROOT, 'docs/guides/questions', `${name}.sql`), 'utf8')
  const dayText = (daysAgo: number) =>
    new Date(Date.now() - daysAgo * DAY_S * 1_000).toISOString().slice(0, 10)
  const url = `${analystUrl}?param_from=${dayText(90)}&param_to=${dayText(0)}`
  const ask = async () => {
    const answer = await fetch(url, { method: 'POST', headers: { authorization }, body })
    const text = await answer.text()
    if (answer.status !== 200 || text === '')
      throw new Error(`${name} was answered with ${answer.status}: ${text}`)
  }
  const took: number[] = []
  while (took.length < times) took.push(await timeOf(ask))
  return summarise(took)
}
