import { dayOf } from '../shared/clickhouse/rollups/usage-cover.ts'
import { formatTable } from '../shared/text/format-table.ts'
import { startTally } from '../test/support/start-tally.ts'
import { buildDataSet } from './data-set/build-data-set.ts'
import type { DataSet } from './data-set/data-set.ts'
import { accountId, ACCOUNTS, CURRENCY, MEDIAN_ACCOUNT } from './data-set/made-up-events.ts'
import { type Latencies, summarise, timeOf } from './latencies.ts'
import { describeMachine, saveResult } from './machine.ts'
import { type Named, usageRates } from './made-cards.ts'
import { type TallyClient, tallyClient } from './tally-client.ts'
import { compare, formatCompared } from './targets.ts'

export interface BenchSimulationsOptions {
  events: number
  /**
   * The folder of the data set, which is made if it is missing. Two cards are added to it, unless it has them already.
   */
  folder: string
  /** The number of requests of each kind, one after the other. */
  requests: number
  save: string
  print: (line: string) => void
}

const DAY_S = 86_400
const DAYS = 30
const RATES = 20
const BALANCES = 200

/**
 * Measures simulations of a month of all accounts on a Tally that serves a made-up data set. A card of 20 rates is
 * compared with another, so each account is rated twice. It also measures a page of accounts, and balances at the same
 * time, which simulations should not delay.
 */
export async function benchSimulations(options: BenchSimulationsOptions): Promise<void> {
  const { events, folder, requests, save, print } = options
  print(describeMachine())
  const dataSet = await buildDataSet(folder, events, print)
  const tally = await startTally({ dataFolder: dataSet.folder, env: { LOG_LEVEL: 'error' } })
  const client = tallyClient(tally, 2)
  try {
    const against = await cardOf(client, dataSet, 'old', { model: 'per_unit', unit_amount: '0.003' })
    const card = await cardOf(client, dataSet, 'new', {
      model: 'graduated',
      tiers: [
        { up_to: '100000', unit_amount: '0.004' },
        { up_to: null, unit_amount: '0.002' },
      ],
    })
    const endAt = dayOf(dataSet.endAt)
    const month = { start_at: endAt - DAYS * DAY_S, end_at: endAt, against }
    const simulate = (body: object = {}) =>
      client.create<{ totals?: { accounts: number } }>(`/v2/rate-cards/${card}/simulate`, {
        ...month,
        ...body,
      })
    const { totals } = await simulate()
    if (totals?.accounts !== ACCOUNTS) throw new Error(`${totals?.accounts ?? 'no'} accounts`)
    const rows: (Latencies & { name: string })[] = []
    const measure = async (name: string, times: number, work: () => Promise<unknown>) => {
      const took: number[] = []
      for (let n = 0; n < times; n++) took.push(await timeOf(work))
      rows.push({ name, ...summarise(took) })
    }
    // Each request is for another account, because a repeated one is in the cache of sums.
    let nth = 0
    const balance = () =>
      client.get(`/v2/accounts/${accountId((nth++ * 7_919) % ACCOUNTS)}/balance?currency=${CURRENCY}`)
    await measure('balances alone', BALANCES, balance)
    await measure('all accounts', requests, simulate)
    await measure('a page of accounts', requests, () =>
      simulate({ starting_after: accountId(MEDIAN_ACCOUNT) }),
    )
    rows.push({
      name: 'balances beside simulations',
      ...summarise(await timesBeside(requests, simulate, balance)),
    })
    const cells = rows.map(({ name, ...row }) => [
      name,
      ...[row.count, ...[row.p50Ms, row.p99Ms, row.maxMs].map((ms) => ms.toFixed(1))].map(String),
    ])
    for (const line of formatTable(['', 'requests', 'p50 ms', 'p99 ms', 'max ms'], cells, 1)) print(line)
    const [, all] = rows
    const on = `${events.toLocaleString('en-US')} events`
    const compared = [compare({ measure: 'simulation', value: (all?.p50Ms ?? NaN) / 1_000, on })]
    for (const line of formatCompared(compared)) print(line)
    await saveResult(save, { bench: 'simulations', events, rows, compared })
  } finally {
    client.close()
    await tally.stop()
  }
}

/** Measures one function again and again, while another one runs a number of times. */
async function timesBeside(
  times: number,
  other: () => Promise<unknown>,
  work: () => Promise<unknown>,
): Promise<number[]> {
  const took: number[] = []
  for (let n = 0; n < times; n++) {
    let isDone = false as boolean
    const running = other().finally(() => (isDone = true))
    while (!isDone) took.push(await timeOf(work))
    await running
  }
  return took
}

/** Makes a card of this name, unless the data set has it: a rate for each source and aggregation, and flat rates. */
async function cardOf(client: TallyClient, dataSet: DataSet, name: string, terms: object): Promise<string> {
  const externalId = `bench: simulated, ${name}`
  const [found] = (
    await client.get<{ data: Named[] }>(`/v2/rate-cards?external_id=${encodeURIComponent(externalId)}`)
  ).data
  if (found !== undefined) return found.id
  const { id: product } = await client.create<Named>('/v2/products', { name: externalId })
  const priceOf = async (of: object) =>
    (await client.create<Named>('/v2/prices', { product_id: product, currency: CURRENCY, ...of })).id
  const prices = { flat: await priceOf({ model: 'flat', amount: '49' }), perUnit: await priceOf(terms) }
  const measured = usageRates(dataSet, prices)
  const fixed = Array.from({ length: RATES - measured.length }, () => ({ price_id: prices.flat }))
  const rates = [...measured, ...fixed]
  const card = { name: externalId, external_id: externalId, currency: CURRENCY, rates }
  return (await client.create<Named>('/v2/rate-cards', card)).id
}
