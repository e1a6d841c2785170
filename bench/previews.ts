import { invoiceOf } from '../shared/domain/billing/invoice.ts'
import { planInvoice } from '../shared/domain/billing/plan.ts'
import { formatTable } from '../shared/text/format-table.ts'
import { startTally } from '../test/support/start-tally.ts'
import { buildDataSet } from './data-set/build-data-set.ts'
import type { DataSet } from './data-set/data-set.ts'
import { accountId, ACCOUNTS, CURRENCY } from './data-set/made-up-events.ts'
import { type Latencies, summarise, timeOf } from './latencies.ts'
import { describeMachine, saveResult } from './machine.ts'
import { ACCOUNTS_EACH, findOrMakeCard, type Kind, KINDS, type List, type Named, TEN } from './made-cards.ts'
import { RATING } from './rating-case.ts'
import { type TallyClient, tallyClient } from './tally-client.ts'
import { compare, type Compared, formatCompared } from './targets.ts'

export interface BenchPreviewsOptions {
  events: number
  /**
   * The folder of the data set, which is made if it is missing. Products, prices, cards and contracts are added to it,
   * unless it has them already.
   */
  folder: string
  /** The number of requests of each kind, one after the other. */
  requests: number
  save: string
  print: (line: string) => void
}

interface Row extends Latencies {
  name: string
}

const DAY_S = 86_400
/**
 * The contracts began this long ago, and their periods are months. So the current period has nearly as many days as a
 * month.
 */
const PERIOD_BEGAN_S = 27 * DAY_S
const WARM_UP = 10
const AT_ONCE = 8
const AT_ONCE_S = 5
const RATINGS = 200

/**
 * Measures previews of invoices on a Tally that serves a made-up data set: one after the other and several at once,
 * with few lines and many, with properties and without. Rating is also measured alone.
 */
export async function benchPreviews(options: BenchPreviewsOptions): Promise<void> {
  const { events, folder, requests, save, print } = options
  print(describeMachine())
  const dataSet = await buildDataSet(folder, events, print)
  const tally = await startTally({ dataFolder: dataSet.folder, env: { LOG_LEVEL: 'error' } })
  const client = tallyClient(tally, AT_ONCE)
  try {
    const rows: Row[] = []
    let perS = 0
    for (const kind of KINDS) {
      const contracts = await makeContracts(client, dataSet, kind)
      let nth = 0
      const preview = () =>
        client.create('/v2/invoice-previews', { contract_id: contracts[nth++ % contracts.length] ?? '' })
      for (let n = 0; n < WARM_UP; n++) await preview()
      const times: number[] = []
      for (let n = 0; n < Math.max(10, requests * kind.ofRequests); n++) times.push(await timeOf(preview))
      rows.push({ name: kind.name, ...summarise(times) })
      if (kind === TEN) perS = await atOnce(preview)
      print(`${kind.name}: done`)
    }
    const linesPerS = rateAlone()
    const cells = rows.map(({ name, ...row }) => [
      name,
      ...[row.count, ...[row.p50Ms, row.p99Ms, row.maxMs].map((ms) => ms.toFixed(1))].map(String),
    ])
    for (const line of formatTable(['', 'previews', 'p50 ms', 'p99 ms', 'max ms'], cells, 1)) print(line)
    const compared = compareRows(rows, perS, linesPerS, events)
    for (const line of formatCompared(compared)) print(line)
    await saveResult(save, { bench: 'previews', events, rows, perS, linesPerS, compared })
  } finally {
    client.close()
    await tally.stop()
  }
}

/** Previews a second. */
async function atOnce(preview: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  let answered = 0
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (performance.now() - startedAt < AT_ONCE_S * 1_000) {
        await preview()
        answered++
      }
    }),
  )
  return (answered * 1_000) / (performance.now() - startedAt)
}

/** Measures the rated lines a second of an invoice whose usage was read before. */
function rateAlone(): number {
  const { contract, rateCards, prices, readings, at } = RATING
  let lines = 0
  const startedAt = performance.now()
  for (let n = 0; n < RATINGS; n++) {
    const plan = planInvoice(contract, rateCards, { at, asOf: at })
    lines += invoiceOf(plan, prices, readings, at).lines.length
  }
  return (lines * 1_000) / (performance.now() - startedAt)
}

/** Makes contracts for ACCOUNTS_EACH accounts, unless the data set has them. */
async function makeContracts(client: TallyClient, dataSet: DataSet, kind: Kind): Promise<string[]> {
  const { id: card, isNew } = await findOrMakeCard(client, dataSet, kind)
  if (!isNew) {
    const contracts: string[] = []
    for (;;) {
      const after = contracts.at(-1)
      const cursor = after === undefined ? '' : `&starting_after=${after}`
      const { data } = await client.get<List>(`/v2/contracts?rate_card_id=${card}${cursor}&limit=100`)
      contracts.push(...data.map(({ id }) => id))
      if (data.length < 100 || contracts.length >= ACCOUNTS_EACH) return contracts.slice(0, ACCOUNTS_EACH)
    }
  }
  const contracts: string[] = []
  const startsAt = Math.floor(Date.now() / 1_000) - PERIOD_BEGAN_S
  for (let n = 0; n < ACCOUNTS_EACH; n++) {
    const { id } = await client.create<Named>('/v2/contracts', {
      account_id: accountId((kind.firstAccount + n * 7) % ACCOUNTS),
      currency: CURRENCY,
      cadence: 'month',
      starts_at: startsAt,
      lines: [{ rate_card_id: card }],
    })
    contracts.push(id)
  }
  return contracts
}

function compareRows(rows: readonly Row[], perS: number, linesPerS: number, events: number): Compared[] {
  const [few, many, byProperty] = rows
  if (few === undefined || many === undefined || byProperty === undefined) throw new Error('too few rows')
  const on = `${events.toLocaleString('en-US')} events`
  return [
    compare({ measure: 'previewP50', value: few.p50Ms, on }),
    compare({ measure: 'previewP99', value: few.p99Ms, on }),
    compare({ measure: 'longPreviewP50', value: many.p50Ms, on }),
    compare({ measure: 'longPreviewP99', value: many.p99Ms, on }),
    compare({
      measure: events < 1e8 ? 'previewByPropertyFew' : 'previewByProperty',
      value: byProperty.p99Ms / 1_000,
      on,
    }),
    compare({ measure: 'previewsPerS', value: perS, on }),
    compare({ measure: 'ratingPerS', value: linesPerS }),
  ]
}
