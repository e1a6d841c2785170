import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ANALYST_PASSWORD_FILE } from '../services/standalone/data-folder.ts'
import { formatTable } from '../shared/text/format-table.ts'
import type { RunningTally } from '../test/support/start-tally.ts'
import type { DataSet } from './data-set/data-set.ts'
import { summarise, timeOf } from './latencies.ts'
import type { LoadGenerator } from './load-generator.ts'
import { tallyClient } from './tally-client.ts'

/** The answers to one kind of reader: alone, and while all other kinds also read. */
export interface SideBySideRow {
  reader: Reader
  alone: Answered
  together: Answered
}

interface Answered {
  answersPerS: number
  p50Ms: number
  p99Ms: number
}

const BALANCES = '256 balances at once'
const MONTHS = 'a company by month, five years, one after the other'
const ANALYST = "an analyst's query over all events, one after the other"
const READERS = [BALANCES, MONTHS, ANALYST] as const
type Reader = (typeof READERS)[number]

const CONNECTIONS = 256
const FIVE_YEARS_S = 5 * 365 * 86_400
/** A pause between kinds, so that the work of one kind has ended before the next is measured. */
const REST_MS = 1_000

/** Rollups cannot help with this query: it reads the quantity of every event, and groups by account. */
const HEAVY_QUERY = `
  SELECT namespace_id, account_id, toStartOfMonth(occurred_at) AS month, sum(quantity), max(quantity), count()
  FROM events GROUP BY namespace_id, account_id, month ORDER BY sum(quantity) DESC LIMIT 100 FORMAT JSONEachRow`

interface SideBySideOptions {
  tally: RunningTally
  dataSet: DataSet
  /** Reads balances. */
  generator: LoadGenerator
  balancePaths: readonly string[]
  seconds: number
}

/**
 * Measures three kinds of readers, each alone and then all at once. The result shows whether a heavy kind slows down
 * the others.
 *
 * @throws Error when an answer is not a success, so a refused request is also an error
 */
export async function measureSideBySide(options: SideBySideOptions): Promise<SideBySideRow[]> {
  const readers = readersOf(options)
  const alone = new Map<Reader, Answered>()
  for (const reader of READERS) {
    alone.set(reader, await readers[reader]())
    await sleep(REST_MS)
  }
  const together = await Promise.all(READERS.map((reader) => readers[reader]()))
  return READERS.map((reader, nth) => {
    const [first, second] = [alone.get(reader), together[nth]]
    if (first === undefined || second === undefined) throw new Error(`${reader} was not measured`)
    return { reader, alone: first, together: second }
  })
}

function readersOf({
  tally,
  dataSet,
  generator,
  balancePaths,
  seconds,
}: SideBySideOptions): Record<Reader, () => Promise<Answered>> {
  const endAt = Math.floor(Date.now() / 1_000)
  const months = `/v2/metrics/usage/monthly?start_at=${endAt - FIVE_YEARS_S}&end_at=${endAt}`
  return {
    [BALANCES]: async () => {
      const { acknowledged, p50Ms, p99Ms, ...load } = await generator.load({
        url: tally.url,
        headers: { 'x-api-key': tally.key },
        paths: balancePaths,
        bodies: [],
        connections: CONNECTIONS,
        seconds,
      })
      return { answersPerS: acknowledged / load.seconds, p50Ms, p99Ms }
    },
    [MONTHS]: async () => {
      const client = tallyClient(tally)
      try {
        return await oneAfterTheOther(seconds, () => client.get(months))
      } finally {
        client.close()
      }
    },
    [ANALYST]: async () => {
      const password = (await readFile(path.join(dataSet.folder, ANALYST_PASSWORD_FILE), 'utf8')).trim()
      const authorization = `Basic ${Buffer.from(`analyst:${password}`).toString('base64')}`
      return oneAfterTheOther(seconds, async () => {
        const answer = await fetch(tally.analystUrl, {
          method: 'POST',
          headers: { authorization },
          body: HEAVY_QUERY,
        })
        const text = await answer.text()
        if (answer.status !== 200) throw new Error(`an analyst was answered with ${answer.status}: ${text}`)
      })
    },
  }
}

/** Sends at least one request, even if it takes longer. */
async function oneAfterTheOther(seconds: number, ask: () => Promise<unknown>): Promise<Answered> {
  const startedAt = performance.now()
  const times: number[] = []
  do times.push(await timeOf(ask))
  while (performance.now() - startedAt < seconds * 1_000)
  const { count, p50Ms, p99Ms } = summarise(times)
  return { answersPerS: (1_000 * count) / (performance.now() - startedAt), p50Ms, p99Ms }
}

export function formatSideBySide(rows: readonly SideBySideRow[]): string[] {
  const cells = rows.map(({ reader, alone, together }) => [
    reader,
    ...[alone, together].flatMap(({ answersPerS, p50Ms, p99Ms }) => [
      answersPerS.toFixed(1),
      ...[p50Ms, p99Ms].map((ms) => ms.toFixed(0)),
    ]),
  ])
  const headings = ['', 'alone, answers/s', 'p50 ms', 'p99 ms', 'together, answers/s', 'p50 ms', 'p99 ms']
  return formatTable(headings, cells, 1)
}
