import { setTimeout as sleep } from 'node:timers/promises'
import { type RunningTally, startTally } from '../test/support/start-tally.ts'
import { expectedUsage } from './expected-usage.ts'
import { startLoadGenerator } from './load-generator.ts'
import { scrape, type Scraped } from './scrape.ts'
import type { Load } from './send-load.ts'
import { type TallyClient, tallyClient } from './tally-client.ts'
import { makeBodies, makeReferences, type References } from './usage-bodies.ts'

/** A Tally in one process, as `npm start` runs it, and a load generator in another. */
export interface LoadStage {
  tally: RunningTally
  client: TallyClient
  references: References
  scrape(): Promise<Scraped>
  /** Reports usage in batches of 1,000, and waits until all of it is loaded. */
  run(load: LoadOptions): Promise<LoadRun>
  /**
   * Compares every balance with what was acknowledged in all runs.
   * @returns the number of balances
   */
  requireExact(): Promise<number>
  /** Ends the Tally and deletes its data. */
  close(): Promise<void>
}

export type LoadOptions = Pick<Load, 'seconds' | 'times' | 'resentPercent' | 'requestsMax'> & {
  /** Events a second; default: as many as Tally accepts. */
  rate?: number | undefined
}

/** The result of a run. */
export interface LoadRun {
  /** The number of acknowledged events; an event that was sent again counts once. */
  events: number
  resent: number
  loadS: number
  /** Seconds from the last answer until everything was loaded. */
  drainS: number
  /** Events a second from the start to the last answer. */
  acceptedPerS: number
  /** Events a second from the start until all were in balances, which Tally can sustain. */
  sustainedPerS: number
  p50Ms: number
  p99Ms: number
}

const BATCH = 1_000
const CONNECTIONS = 8
const ACCOUNTS = 1_000
const LOOK_EVERY_MS = 50
const STANDS_STILL_MS = 60_000
const EXACT_WITHIN_MS = 30_000

export async function openLoadStage(env: Record<string, string> = {}): Promise<LoadStage> {
  const tally = await startTally({ env: { LOG_LEVEL: 'error', ...env } })
  try {
    return await stageOf(tally)
  } catch (err) {
    await tally.discard()
    throw err
  }
}

async function stageOf(tally: RunningTally): Promise<LoadStage> {
  const { adminUrl } = tally
  const client = tallyClient(tally)
  const references = await makeReferences(tally, ACCOUNTS)
  const bodies = makeBodies(references, BATCH, true)
  const generator = startLoadGenerator()
  const expected = expectedUsage()
  return {
    tally,
    client,
    references,
    scrape: () => scrape(adminUrl),
    async run({ rate, ...options }) {
      const before = await loadedRows(adminUrl)
      const result = await generator.load({
        url: `${tally.url}/v2/events/batch`,
        headers: { 'content-type': 'application/json', 'x-api-key': tally.key },
        bodies: bodies.map(({ bytes }) => bytes),
        connections: CONNECTIONS,
        ...options,
        ...(rate === undefined ? {} : { rate: rate / BATCH }),
      })
      const answeredAt = performance.now()
      expected.add(bodies, result.ofBody)
      const [events, resent] = [result.acknowledged * BATCH, result.resent * BATCH]
      await untilLoaded(adminUrl, before + events + resent)
      const drainS = (performance.now() - answeredAt) / 1_000
      return {
        events,
        resent,
        loadS: result.seconds,
        drainS,
        acceptedPerS: events / result.seconds,
        sustainedPerS: events / (result.seconds + drainS),
        p50Ms: result.p50Ms,
        p99Ms: result.p99Ms,
      }
    },
    requireExact: () => expected.requireExact(client, EXACT_WITHIN_MS),
    async close() {
      client.close()
      await generator.close().finally(() => tally.discard())
    },
  }
}

const loadedRows = async (adminUrl: string): Promise<number> =>
  (await scrape(adminUrl)).sum('tally_loader_rows_total')

/**
 * Waits until a loader has stored this many rows.
 *
 * @returns the time and the number of stored rows, for each reading
 * @throws Error when the number does not grow for a minute
 */
export async function untilLoaded(adminUrl: string, wanted: number): Promise<{ at: number; rows: number }[]> {
  const looks: { at: number; rows: number }[] = []
  let grewAt = performance.now()
  for (;;) {
    const rows = await loadedRows(adminUrl)
    const at = performance.now()
    if (rows > (looks.at(-1)?.rows ?? -1)) grewAt = at
    looks.push({ at, rows })
    if (rows >= wanted) return looks
    if (at - grewAt > STANDS_STILL_MS) throw new Error(`${rows} of ${wanted} rows were loaded, and no more`)
    await sleep(LOOK_EVERY_MS)
  }
}
