import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'
import { formatTable } from '../shared/text/format-table.ts'
import { type RunningTally, startTally } from '../test/support/start-tally.ts'
import { buildDataSet } from './data-set/build-data-set.ts'
import type { DataSet } from './data-set/data-set.ts'
import { accountId, ACCOUNTS, CURRENCY, LARGEST_ACCOUNT, MEDIAN_ACCOUNT } from './data-set/made-up-events.ts'
import { type Latencies, summarise } from './latencies.ts'
import { describeMachine, saveResult } from './machine.ts'
import { findOrMakeCard, type Named, TEN } from './made-cards.ts'
import type { Answered, Greed, Wants } from './neighbours/greedy.ts'
import { tallyClient } from './tally-client.ts'
import { compare, failWhenMissed, formatCompared } from './targets.ts'

export interface BenchNeighboursOptions {
  events: number
  /** The folder of the data set, which is made if it is missing. The greedy company adds to it. */
  folder: string
  /** The duration for each kind of greedy request. */
  seconds: number
  /** Connections of the greedy company. */
  connections: number
  /** Only kinds with this text in their names; default: all. */
  only: string | undefined
  save: string
  print: (line: string) => void
}

/** The other company's requests, one after the other. */
const ASKED = ['report', 'balance', 'account'] as const
type Asked = (typeof ASKED)[number]

/** The answers to the other company, without the greedy company or with one kind of its requests. */
interface Row {
  beside: string
  /** Answers to the greedy company, by status. */
  greedy: Answered
  answers: Record<Asked, Latencies>
  /** Answers to the other company other than a success. */
  refused: Answered
}

const ALONE = 'alone'
const DAY_S = 86_400
/** The largest range of usage by day, in days. */
const DAYS_MAX = 3_690
const WARM_UP_MS = 3_000
/** A pause between two kinds, so that the work of one kind has ended before the next is measured. */
const REST_MS = 3_000
/** A pause between two requests, as in a client that serves its own users. */
const PAUSE_MS = 10
const LARGE_PROPERTIES = { note: 'x'.repeat(16_000) }
const LARGE_EVENTS = 100
const BODY_BYTES = 4 * 1_024 * 1_024
/** The limit for a request with a greedy neighbour: the time without one, times this factor, plus a fixed time. */
const TIMES_MAX = 3
const MORE_MS = 50

/**
 * Measures whether a greedy company slows down another one. The greedy company sends one kind of request over many
 * connections, and ignores Retry-After. The other company sends reports, and reads the account and the balances of an
 * account with new usage.
 */
export async function benchNeighbours(options: BenchNeighboursOptions): Promise<void> {
  const { events, folder, seconds, connections, only, save, print } = options
  print(describeMachine())
  const dataSet = await buildDataSet(folder, events, print)
  const tally = await startTally({ dataFolder: dataSet.folder, env: { LOG_LEVEL: 'fatal' } })
  try {
    const greeds = await greedsOf(tally, dataSet)
    const neighbour = await makeNeighbour(tally)
    const rows: Row[] = []
    const measure = async (beside: string, wants: Wants | undefined) => {
      const greed = wants && beGreedy({ url: tally.url, key: tally.key, connections, wants })
      await askInTurn(neighbour, WARM_UP_MS)
      const { answers, refused } = await askInTurn(neighbour, seconds * 1_000)
      const row = { beside, greedy: (await greed?.end()) ?? {}, answers, refused }
      rows.push(row)
      print(describeRow(row))
      await sleep(REST_MS)
    }
    await askInTurn(neighbour, WARM_UP_MS)
    await measure(ALONE, undefined)
    for (const [name, wants] of Object.entries(greeds))
      if (only === undefined || name.includes(only)) await measure(name, wants)
    await measure(ALONE, undefined)
    const { worst, failed } = judge(rows)
    for (const line of formatRows(rows)) print(line)
    const on = `${connections} connections`
    const compared = [
      compare({ measure: 'besideGreed', value: worst, on }),
      compare({ measure: 'failedBesideGreed', value: failed, on }),
    ]
    for (const line of formatCompared(compared)) print(line)
    await saveResult(save, { bench: 'neighbours', events, seconds, connections, rows, compared })
    failWhenMissed(compared)
  } finally {
    await tally.stop()
  }
}

/** Returns the kinds of greedy requests, by name. */
async function greedsOf(tally: RunningTally, dataSet: DataSet): Promise<Record<string, Wants>> {
  const client = tallyClient(tally)
  try {
    const nowS = Math.floor(Date.now() / 1_000)
    const { id: card } = await findOrMakeCard(client, dataSet, TEN)
    const account = await reportLargeEvents(client, dataSet)
    return {
      ...greedyReads(nowS),
      ...greedyWork(card, nowS),
      'bodies that never end': { kind: 'bodies that never end', path: '/v2/events/batch', bytes: BODY_BYTES },
      'answers nobody reads': {
        kind: 'answers nobody reads',
        path: `/v2/events?limit=100&account_id=${account}`,
        pipelined: 4,
      },
      'wrong keys': { kind: 'wrong keys', path: '/v2/accounts' },
    }
  } finally {
    client.close()
  }
}

/** @returns the account of the events */
async function reportLargeEvents(
  client: ReturnType<typeof tallyClient>,
  { metrics: [metric = ''] }: DataSet,
): Promise<string> {
  const { id: account } = await client.create<Named>('/v2/accounts', { name: 'large events' })
  await client.create('/v2/events/batch', {
    events: Array.from({ length: LARGE_EVENTS }, () => ({
      account_id: account,
      metric_id: metric,
      quantity: '1',
      properties: LARGE_PROPERTIES,
    })),
  })
  return account
}

const requests = (...wanted: Extract<Wants, { kind: 'requests' }>['requests']): Wants => ({
  kind: 'requests',
  requests: wanted,
})

/** Requests that read. */
function greedyReads(nowS: number): Record<string, Wants> {
  const get = (path: string) => ({ method: 'GET', path }) as const
  const hundred = (first: number) => Array.from({ length: 100 }, (_, n) => accountId(first + n)).join(',')
  const ids = Array.from({ length: 64 }, (_, n) => accountId((n * 149) % ACCOUNTS))
  const tenYears = `start_at=${nowS - DAYS_MAX * DAY_S}&end_at=${nowS}`
  return {
    'usage by a property': requests(
      get('/v2/events/aggregate?property=model&value=large'),
      get(`/v2/events/aggregate?property=model&value=small&start_at=${nowS - 80 * DAY_S}`),
    ),
    'usage by day of ten years': requests(
      ...ids.map((id) => get(`/v2/accounts/${id}/usage/daily?${tenYears}&aggregation=max`)),
    ),
    'pages of events': requests(
      get(`/v2/events?limit=100&account_id=${accountId(LARGEST_ACCOUNT)}`),
      get(`/v2/events?limit=100&account_id=${accountId(MEDIAN_ACCOUNT)}`),
    ),
    'balances of a hundred': requests(
      ...Array.from({ length: 90 }, (_, n) => get(`/v2/accounts/balances?account_ids=${hundred(n * 100)}`)),
    ),
  }
}

/** Requests that compute or change something. */
const greedyWork = (card: string, nowS: number): Record<string, Wants> => ({
  simulations: requests({
    method: 'POST',
    path: `/v2/rate-cards/${card}/simulate`,
    body: JSON.stringify({ start_at: nowS - 31 * DAY_S, end_at: nowS - DAY_S, against: 'none' }),
  }),
  'changes of one account': requests({
    method: 'PATCH',
    path: `/v2/accounts/${accountId(1)}`,
    body: JSON.stringify({ description: 'changed' }),
  }),
  'grants of one account': requests({
    method: 'POST',
    path: '/v2/grants',
    body: JSON.stringify({
      account_id: accountId(2),
      currency: CURRENCY,
      amount: '1',
      effective_at: nowS,
    }),
  }),
})

/** The other company: its key and its requests. */
interface Neighbour {
  url: string
  key: string
  account: string
  metric: string
}

async function makeNeighbour({ url, dataFolder }: RunningTally): Promise<Neighbour> {
  const name = `neighbour ${Date.now()}`
  const operator = (...words: string[]) =>
    promisify(execFile)(
      process.execPath,
      [path.join(PROJECT_ROOT, 'dist/services/operator/main.js'), ...words],
      {
        env: { ...process.env, DATA_DIR: dataFolder },
      },
    )
  await operator('companies', 'create', '--name', name)
  const key = (await operator('keys', 'issue', '--company', name, '--quiet')).stdout.trim()
  const client = tallyClient({ url, key })
  try {
    const { id: account } = await client.create<Named>('/v2/accounts', { name: 'account' })
    const { id: metric } = await client.create<Named>('/v2/metrics', { name: 'metric' })
    const grant = { account_id: account, metric_id: metric, amount: '1000000', effective_at: 0 }
    await client.create('/v2/grants', grant)
    return { url, key, account, metric }
  } finally {
    client.close()
  }
}

/** Runs three clients, each with one kind of request, which pause between their requests. */
async function askInTurn(
  { url, key, account, metric }: Neighbour,
  ms: number,
): Promise<Pick<Row, 'answers' | 'refused'>> {
  const endAt = performance.now() + ms
  const refused: Record<string, number> = {}
  const requests: Record<Asked, { path: string; body?: () => string }> = {
    report: {
      path: '/v2/events',
      body: () => JSON.stringify({ account_id: account, metric_id: metric, quantity: '1' }),
    },
    balance: { path: `/v2/accounts/${account}/balance?metric_id=${metric}` },
    account: { path: `/v2/accounts/${account}` },
  }
  const askFor = async (asked: Asked): Promise<[Asked, Latencies]> => {
    const { path: where, body } = requests[asked]
    const times: number[] = []
    while (performance.now() < endAt) {
      const startedAt = performance.now()
      const response = await fetch(url + where, {
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        ...(body && { method: 'POST', body: body() }),
      }).catch(() => undefined)
      await response?.arrayBuffer()
      times.push(performance.now() - startedAt)
      if (response?.ok !== true) {
        const status = String(response?.status ?? 'ended')
        refused[status] = (refused[status] ?? 0) + 1
      }
      await sleep(PAUSE_MS)
    }
    return [asked, summarise(times)]
  }
  const answers = Object.fromEntries(await Promise.all(ASKED.map(askFor))) as Record<Asked, Latencies>
  return { answers, refused }
}

/** Starts a greedy company in a separate process. */
function beGreedy(greed: Greed): { end(): Promise<Answered> } {
  const child = fork(path.join(import.meta.dirname, 'neighbours/be-greedy.main.js'))
  child.send(greed)
  const answered = once(child, 'message') as Promise<[Answered]>
  return {
    async end() {
      child.send('over')
      return (await answered)[0]
    },
  }
}

/** The limit is based on the longer of the two times without a greedy company, because the machine's speed changes. */
function allowedMs(rows: readonly Row[], asked: Asked): number {
  const alone = rows.filter(({ beside }) => beside === ALONE).map(({ answers }) => answers[asked].p99Ms)
  return TIMES_MAX * Math.max(...alone) + MORE_MS
}

/** @returns the largest p99 relative to its limit, and how many requests failed */
function judge(rows: readonly Row[]): { worst: number; failed: number } {
  const shares = rows.flatMap(({ answers }) =>
    ASKED.map((asked) => answers[asked].p99Ms / allowedMs(rows, asked)),
  )
  const failed = rows.flatMap(({ refused }) => Object.values(refused)).reduce((sum, count) => sum + count, 0)
  return { worst: Math.max(...shares), failed }
}

const describeAnswered = (answered: Answered): string =>
  Object.entries(answered)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ')

const describeRow = ({ beside, answers, greedy, refused }: Row): string =>
  `${beside}: ${ASKED.map((asked) => `${asked} p99 ${answers[asked].p99Ms.toFixed(0)} ms`).join(', ')}; greedy ${describeAnswered(greedy)}; refused ${describeAnswered(refused)}`

function formatRows(rows: readonly Row[]): string[] {
  const headings = [
    'beside',
    ...ASKED.flatMap((asked) => [`${asked} p50`, 'p99', 'max, ms']),
    'failed',
    'greedy',
  ]
  const cells = rows.map(({ beside, answers, refused, greedy }) => [
    beside,
    ...ASKED.flatMap((asked) =>
      [answers[asked].p50Ms, answers[asked].p99Ms, answers[asked].maxMs].map((ms) => ms.toFixed(0)),
    ),
    describeAnswered(refused),
    describeAnswered(greedy),
  ])
  const allowed = ASKED.flatMap((asked) => ['', allowedMs(rows, asked).toFixed(0), ''])
  return formatTable(headings, [...cells, ['allowed', ...allowed, '', '']], 1)
}
