import { startTally } from '../test/support/start-tally.ts'
import { buildDataSet } from './data-set/build-data-set.ts'
import type { DataSet } from './data-set/data-set.ts'
import { accountId, ACCOUNTS, CURRENCY } from './data-set/made-up-events.ts'
import { summarise, timeOf } from './latencies.ts'
import { describeMachine, saveResult } from './machine.ts'
import { findOrMakeCard, type Named, TEN } from './made-cards.ts'
import { type TallyClient, tallyClient } from './tally-client.ts'
import { compare, formatCompared } from './targets.ts'

export interface BenchCloseOptions {
  events: number
  /**
   * The folder of the data set, which is made if it is missing. Contracts are added to it, unless it has them already.
   */
  folder: string
  save: string
  print: (line: string) => void
}

interface Page {
  data: { contract_id: string; total: string }[]
  has_more: boolean
}

const DAY_S = 86_400
const PAGE = 100
/** The period ends this many days, at midnight, before the periods of other benches begin. */
const ENDED_DAYS_AGO = 29
/** The length of the period in days. */
const PERIOD_DAYS = 27
const MADE_AT_ONCE = 8
const BALANCES_BEFORE = 300

/**
 * Measures the close of a period: the previews of a contract of each account in the data set, page after page. At the
 * same time a client reads balances one after the other.
 */
export async function benchClose({ events, folder, save, print }: BenchCloseOptions): Promise<void> {
  print(describeMachine())
  const dataSet = await buildDataSet(folder, events, print)
  const tally = await startTally({ dataFolder: dataSet.folder, env: { LOG_LEVEL: 'error' } })
  const client = tallyClient(tally, MADE_AT_ONCE)
  try {
    const endsAt = Math.floor(Date.now() / 1_000 / DAY_S) * DAY_S - ENDED_DAYS_AGO * DAY_S
    await makeContracts(client, dataSet, endsAt, print)
    let nth = 0
    const balance = () =>
      client.get(
        `/v2/accounts/${accountId((nth++ * 7_919) % ACCOUNTS)}/balance?metric_id=${dataSet.metrics[0] ?? ''}`,
      )
    for (let n = 0; n < BALANCES_BEFORE; n++) await balance()
    const before: number[] = []
    for (let n = 0; n < BALANCES_BEFORE; n++) before.push(await timeOf(balance))

    const closed = new AbortController()
    const meanwhile: number[] = []
    const reading = (async () => {
      while (!closed.signal.aborted) meanwhile.push(await timeOf(balance))
    })()
    const { seconds, invoices } = await close(client, endsAt - 1)
    closed.abort()
    await reading
    if (invoices !== ACCOUNTS) throw new Error(`${invoices} invoices of ${ACCOUNTS} contracts`)

    const [quiet, beside] = [summarise(before), summarise(meanwhile)]
    print(`${invoices.toLocaleString('en-US')} invoices of 10 lines in ${seconds.toFixed(1)} s`)
    print(
      `balances: p50 ${quiet.p50Ms.toFixed(1)}, p99 ${quiet.p99Ms.toFixed(1)} ms before, ${beside.p50Ms.toFixed(1)} and ${beside.p99Ms.toFixed(1)} meanwhile`,
    )
    const on = `${events.toLocaleString('en-US')} events`
    const compared = [
      compare({ measure: 'close', value: seconds, on }),
      compare({ measure: 'balancesWhileClosing', value: beside.p99Ms / quiet.p99Ms, on }),
    ]
    for (const line of formatCompared(compared)) print(line)
    await saveResult(save, { bench: 'close', events, seconds, invoices, quiet, beside, compared })
  } finally {
    client.close()
    await tally.stop()
  }
}

async function close(client: TallyClient, at: number): Promise<{ seconds: number; invoices: number }> {
  const startedAt = performance.now()
  let invoices = 0
  let cursor = ''
  for (;;) {
    const page = await client.get<Page>(`/v2/invoice-previews?at=${at}&limit=${PAGE}${cursor}`)
    invoices += page.data.length
    const last = page.data.at(-1)
    if (!page.has_more || last === undefined)
      return { seconds: (performance.now() - startedAt) / 1_000, invoices }
    cursor = `&starting_after=${last.contract_id}`
  }
}

/** Makes a contract for each account, on a card of ten lines, unless the data set has them for this period. */
async function makeContracts(
  client: TallyClient,
  dataSet: DataSet,
  endsAt: number,
  print: (line: string) => void,
): Promise<void> {
  const { id: card } = await findOrMakeCard(client, dataSet, TEN)
  const { data } = await client.get<Page>(`/v2/invoice-previews?at=${endsAt - 1}&limit=1`)
  if (data.length > 0) return
  print('making contracts')
  let next = 0
  await Promise.all(
    Array.from({ length: MADE_AT_ONCE }, async () => {
      while (next < ACCOUNTS)
        await client.create<Named>('/v2/contracts', {
          account_id: accountId(next++),
          currency: CURRENCY,
          cadence: 'month',
          starts_at: endsAt - PERIOD_DAYS * DAY_S,
          ends_at: endsAt,
          lines: [{ rate_card_id: card }],
        })
    }),
  )
}
