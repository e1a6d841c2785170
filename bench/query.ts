import { deepStrictEqual } from 'node:assert'
import { randomUUID } from 'node:crypto'
import { type ClickHouse, queryRows } from '../shared/clickhouse/clickhouse.ts'
import { usageAggregateRepository } from '../shared/clickhouse/usage/usage-aggregates.ts'
import { usageThroughRollups } from '../shared/clickhouse/usage/usage-through-rollups.ts'
import { monthOf } from '../shared/domain/month.ts'
import { ALL_TIME, DAY_S } from '../shared/domain/time-range.ts'
import { formatTable } from '../shared/text/format-table.ts'
import { type RunningTally, startTally } from '../test/support/start-tally.ts'
import { until } from '../test/support/until.ts'
import { buildDataSet } from './data-set/build-data-set.ts'
import { type DataSet, openUsage } from './data-set/data-set.ts'
import {
  accountId,
  accountOfDraw,
  ACCOUNTS,
  CURRENCY,
  LARGEST_ACCOUNT,
  MEDIAN_ACCOUNT,
  MODELS,
  REQUEST_IDS,
} from './data-set/made-up-events.ts'
import { type Latencies, summarise, timeOf } from './latencies.ts'
import { describeMachine, saveResult } from './machine.ts'
import { scrape } from './scrape.ts'
import { tallyClient } from './tally-client.ts'
import { compare, type Compared, formatCompared } from './targets.ts'

export interface BenchQueryOptions {
  events: number
  /** The folder of the data set, which is made if it is missing. */
  folder: string
  /** The number of requests of each kind, one after the other. */
  requests: number
  save: string
  print: (line: string) => void
}

/** A kind of request, and the durations of its answers. */
interface QueryRow extends Latencies {
  name: string
}

/** The result, which is written as JSON together with the machine. */
export interface QueryResult {
  bench: 'query'
  events: number
  rows: QueryRow[]
  compared: Compared[]
}

/** The number of first requests of each kind that are not measured. */
const WARM_UP = 20
/** The number of requests of a kind whose requests take long. */
const FEW = 20
const RAW_READS = 5
const READS_EACH = 10
/** Rollups have slots of this time before now, and of a few days more. */
const SLOTS_FOR_S = 30 * 86_400
const DAYS_BETWEEN_S = 4 * 86_400
const WARM_WITHIN_MS = 600_000

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T

/**
 * Sends requests to a Tally that serves a made-up data set, one after the other: balances, usage, usage by a property.
 * It also measures the readers in this process: through rollups and from the raw events in turn. Both must return the
 * same usage.
 */
export async function benchQuery(options: BenchQueryOptions): Promise<void> {
  const { events, folder, requests, save, print } = options
  print(describeMachine())
  const dataSet = await buildDataSet(folder, events, print)
  const { rows: readerRows, ratio, requestIds } = await measureReaders(dataSet, requests)
  const rows = [...(await measureAnswers(dataSet, requestIds, requests, print)), ...readerRows]
  const compared = compareRows(rows, ratio, events)
  const cells = rows.map((row) => [
    row.name,
    ...[row.count, ...[row.p50Ms, row.p99Ms, row.maxMs].map((ms) => ms.toFixed(1))].map(String),
  ])
  for (const line of formatTable(['', 'requests', 'p50 ms', 'p99 ms', 'max ms'], cells, 1)) print(line)
  for (const line of formatCompared(compared)) print(line)
  const result: QueryResult = { bench: 'query', events, rows, compared }
  await saveResult(save, result)
}

/** Measures the readers in this process, without HTTP and PostgreSQL, and returns property values for requests. */
async function measureReaders(
  { folder, namespaceId, metrics, events }: DataSet,
  requests: number,
): Promise<{ rows: QueryRow[]; ratio: number; requestIds: string[] }> {
  const opened = await openUsage(folder)
  try {
    const [rolled, raw] = [usageThroughRollups(opened.client), usageAggregateRepository(opened.client)]
    const selection = { accountId: accountId(LARGEST_ACCOUNT), source: metrics[0], range: ALL_TIME }
    deepStrictEqual(
      await rolled.aggregate(namespaceId, selection),
      await raw.aggregate(namespaceId, selection),
      'rollups and raw events disagree about the largest account',
    )
    const sumOf = (account: number) => timeOf(() => rolled.sumByAccount(namespaceId, [accountId(account)]))
    const times = {
      rolled: [] as number[],
      raw: [] as number[],
      nothing: [] as number[],
      largest: [] as number[],
      median: [] as number[],
    }
    for (let n = -WARM_UP; n < requests; n++) {
      const [largest, median] = [await sumOf(LARGEST_ACCOUNT), await sumOf(MEDIAN_ACCOUNT)]
      if (n < 0) continue
      times.largest.push(largest)
      times.median.push(median)
    }
    for (let round = 0; round < RAW_READS; round++) {
      times.raw.push(await timeOf(() => raw.aggregate(namespaceId, selection)))
      for (let n = 0; n < READS_EACH; n++) {
        times.rolled.push(await timeOf(() => rolled.aggregate(namespaceId, selection)))
        times.nothing.push(await timeOf(() => queryRows(opened.client, 'SELECT 1', {})))
      }
    }
    const [rolledTimes, rawTimes] = [summarise(times.rolled), summarise(times.raw)]
    return {
      rows: [
        { name: 'the reader alone: largest account, rollups', ...rolledTimes },
        { name: 'the reader alone: largest account, raw FINAL', ...rawTimes },
        { name: SUM_LARGEST, ...summarise(times.largest) },
        { name: SUM_MEDIAN, ...summarise(times.median) },
        { name: 'to compare: ClickHouse, SELECT 1', ...summarise(times.nothing) },
      ],
      ratio: rawTimes.p50Ms / rolledTimes.p50Ms,
      requestIds: await requestIdsOf(opened.client, events, requests + WARM_UP),
    }
  } finally {
    await opened.close()
  }
}

async function requestIdsOf(client: ClickHouse, events: number, count: number): Promise<string[]> {
  const numbers = Array.from({ length: count }, () => Math.floor(Math.random() * events))
  const rows = await queryRows<{ request_id: string }>(client, REQUEST_IDS, { numbers })
  return rows.map((row) => row.request_id)
}

/** A kind of request, with another path each time. */
interface Kind {
  name: string
  paths: () => string
  requestsMax?: number
}

/**
 * Measures a Tally in a separate process over HTTP: first directly after its start, and then when it has read usage
 * ahead.
 */
async function measureAnswers(
  dataSet: DataSet,
  requestIds: readonly string[],
  requests: number,
  print: (line: string) => void,
): Promise<QueryRow[]> {
  const cold = await askTally(dataSet, { API_WARM_ACCOUNTS: '0' }, [coldKinds(dataSet)], requests)
  const kinds = kindsOf(dataSet, requestIds)
  return [
    ...cold,
    ...(await askTally(dataSet, {}, kinds, requests, async ({ adminUrl }) => {
      const ms = await timeOf(() => untilWarm(adminUrl))
      print(`usage of accounts that used something in the last day was read ahead in ${formatS(ms)} s`)
    })),
  ]
}

const formatS = (ms: number): string => (ms / 1_000).toFixed(1)

async function untilWarm(adminUrl: string): Promise<void> {
  await until(async () => (await scrape(adminUrl)).sum('tally_api_warm_accounts') > 0, WARM_WITHIN_MS)
}

async function askTally(
  dataSet: DataSet,
  env: Record<string, string>,
  kindsInTurn: readonly (readonly Kind[])[],
  requests: number,
  begin: (tally: RunningTally) => Promise<void> = () => Promise.resolve(),
): Promise<QueryRow[]> {
  const tally = await startTally({ dataFolder: dataSet.folder, env })
  const client = tallyClient(tally)
  try {
    await begin(tally)
    const rows: QueryRow[] = []
    for (const kinds of kindsInTurn) {
      const times = kinds.map(() => [] as number[])
      const wanted = Math.min(kinds[0]?.requestsMax ?? requests, requests)
      const warmUp = Math.min(WARM_UP, Math.ceil(wanted / 10))
      for (let n = -warmUp; n < wanted; n++)
        for (const [index, { paths }] of kinds.entries()) {
          const path = paths()
          const ms = await timeOf(() => client.get(path))
          if (n >= 0) times[index]?.push(ms)
        }
      rows.push(...kinds.map(({ name }, index) => ({ name, ...summarise(times[index] ?? []) })))
    }
    return rows
  } finally {
    client.close()
    await tally.stop()
  }
}

const BALANCE_COLD = 'balance, each account for the first time after a start'
export const BALANCE = 'balance, accounts as their usage has it, none twice'
const BALANCE_AGAIN = 'balance, an account whose usage was not written since it was asked for'
// This reader caches no sums of open slots, like Tally's reader while usage arrives.
const SUM_LARGEST = 'the reader alone: what a balance of the largest account asks'
const SUM_MEDIAN = 'the reader alone: what a balance of the median account asks'
const NAMESPACE_MONTHLY = 'usage of the namespace by month, 90 days'
const RARE_PROPERTY = 'usage that has a property, rare value'

/** @returns a function from the number of an account to the path of its balance */
function balanceIn({ metrics }: DataSet): (account: number) => string {
  const sources = [...metrics.map((id) => `metric_id=${id}`), `currency=${CURRENCY}`]
  return (account) => `/v2/accounts/${accountId(account)}/balance?${pick(sources)}`
}

/** Draws accounts in proportion to their usage, none twice. */
function newAccounts(): () => number {
  const asked = new Set<number>()
  return () => {
    for (;;) {
      const account = accountOfDraw(Math.random())
      if (!asked.has(account)) {
        asked.add(account)
        return account
      }
    }
  }
}

function coldKinds(dataSet: DataSet): readonly Kind[] {
  const [balance, nextAccount] = [balanceIn(dataSet), newAccounts()]
  return [{ name: BALANCE_COLD, paths: () => balance(nextAccount()), requestsMax: ACCOUNTS / 10 }]
}

/** Kinds in one group are requested in turn, so that changes of the machine's speed do not affect their ratio. */
function kindsOf(dataSet: DataSet, requestIds: readonly string[]): (readonly Kind[])[] {
  const { startAt, endAt } = dataSet
  const balance = balanceIn(dataSet)
  const anyAccount = () => accountOfDraw(Math.random())
  const nextAccount = newAccounts()
  let last = 0
  const days = `start_at=${startAt}&end_at=${endAt}`
  const anyRange = () => {
    const from = startAt + Math.floor(Math.random() * (endAt - startAt - 1))
    return `start_at=${from}&end_at=${from + 1 + Math.floor(Math.random() * (endAt - from - 1))}`
  }
  const having = (property: string, value: string) =>
    `/v2/events/aggregate?property=${property}&value=${value}&${days}`
  let asked = 0
  const nextRequest = () => requestIds[asked++ % requestIds.length] ?? ''
  return [
    [
      { name: BALANCE, paths: () => balance((last = nextAccount())) },
      { name: BALANCE_AGAIN, paths: () => balance(last) },
      { name: 'balance, any account alike', paths: () => balance(Math.floor(Math.random() * ACCOUNTS)) },
      { name: 'to compare: an account itself', paths: () => `/v2/accounts/${accountId(anyAccount())}` },
    ],
    [
      {
        name: 'usage of an account, 90 days',
        paths: () => `/v2/accounts/${accountId(anyAccount())}/usage?${days}`,
      },
      {
        name: 'usage of an account, any range within',
        paths: () => `/v2/accounts/${accountId(anyAccount())}/usage?${anyRange()}`,
      },
    ],
    [
      { name: NAMESPACE_MONTHLY, paths: () => `/v2/metrics/usage/monthly?${days}` },
      { name: RARE_PROPERTY, paths: () => having('request_id', nextRequest()) },
    ],
    [
      {
        name: `usage that has a property, one event in ${MODELS.length}`,
        paths: () => having('model', pick(MODELS)),
        requestsMax: FEW,
      },
    ],
    ...listKinds(dataSet),
    ...groupKinds(dataSet),
  ]
}

/** Pages of events by occurrence that begin at any time, and searches for accounts by name. */
function listKinds({ startAt, endAt }: DataSet): (readonly Kind[])[] {
  const slotsFrom = endAt - SLOTS_FOR_S
  const timeIn = (from: number, to: number) => from + 1 + Math.floor(Math.random() * (to - from))
  const events = (query: string, from: number, to: number) =>
    `/v2/events?sort=occurred_at&order=newest&end_at=${timeIn(from, to)}${query}`
  const ofAccount = () => `&account_id=${accountId(accountOfDraw(Math.random()))}`
  return [
    [
      {
        name: 'events of an account before any time of 30 days',
        paths: () => events(ofAccount(), slotsFrom, endAt),
      },
      {
        name: 'events of an account before any time of 90 to 33 days ago',
        paths: () => events(ofAccount(), startAt, slotsFrom - DAYS_BETWEEN_S),
        requestsMax: FEW,
      },
      { name: 'events of all accounts before any time', paths: () => events('', startAt, endAt) },
    ],
    [
      {
        name: `accounts by a text that none of ${ACCOUNTS} has`,
        paths: () => `/v2/accounts?query=${randomUUID()}`,
      },
      { name: 'accounts by a text that all have', paths: () => '/v2/accounts?query=MADE' },
    ],
  ]
}

/** Usage by group, and a balance by day. Each has its own group, because some of them take long. */
function groupKinds({ metrics, startAt, endAt }: DataSet): (readonly Kind[])[] {
  const thisMonth = monthOf(endAt)
  const usage = (from: number, to: number, how: string) =>
    `/v2/usage?metric_id=${pick(metrics)}&start_at=${from}&end_at=${to}&${how}`
  const anyAccount = () => accountId(accountOfDraw(Math.random()))
  const days = `start_at=${endAt - 90 * DAY_S}&end_at=${endAt}`
  const kinds: Kind[] = [
    {
      name: 'usage of all accounts by day, 90 days',
      paths: () => usage(startAt, endAt, 'period=day'),
    },
    {
      name: 'the ten accounts with the largest usage in the month before',
      paths: () => usage(monthOf(thisMonth - 1), thisMonth, 'group_by=account'),
    },
    {
      name: 'the ten accounts with the largest usage in the last month, by day',
      paths: () => usage(thisMonth, endAt, 'group_by=account&period=day'),
    },
    {
      name: 'usage by model, 90 days',
      paths: () => usage(startAt, endAt, 'group_by=property&property=model'),
    },
    {
      name: 'balance by day, 90 days',
      paths: () => `/v2/accounts/${anyAccount()}/balance/daily?metric_id=${pick(metrics)}&${days}`,
    },
  ]
  return kinds.map((kind) => [{ ...kind, requestsMax: FEW }])
}

function compareRows(rows: readonly QueryRow[], ratio: number, events: number): Compared[] {
  const rowOf = (name: string) => rows.find((row) => row.name === name) ?? { p50Ms: NaN, p99Ms: NaN }
  const on = `${events.toLocaleString('en-US')} events`
  return [
    compare({ measure: 'balanceP50', value: rowOf(BALANCE).p50Ms, on }),
    compare({ measure: 'balanceP99', value: rowOf(BALANCE).p99Ms, on }),
    compare({ measure: 'largest', value: rowOf(SUM_LARGEST).p50Ms / rowOf(SUM_MEDIAN).p50Ms, on }),
    compare({ measure: 'rollups', value: ratio, on }),
    compare({ measure: 'rareProperty', value: rowOf(RARE_PROPERTY).p50Ms, on }),
    compare({ measure: 'namespace', value: rowOf(NAMESPACE_MONTHLY).p50Ms, on }),
  ]
}
