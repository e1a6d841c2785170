import { until } from './until.ts'

/** The clock of a gateway may be ahead of its machine's by as many microseconds as it took events. */
const AHEAD_MS = 10

/**
 * Waits until an export of event_changes has all changes that Tally has taken up to now.
 *
 * @param ask answers a query of an analyst
 */
export async function untilChangesComplete(ask: (query: string) => Promise<string>): Promise<void> {
  const at = new Date(Date.now() + AHEAD_MS).toISOString().replace('T', ' ').replace('Z', '')
  const isComplete = `SELECT min(complete_up_to) > toDateTime64('${at}', 6, 'UTC') FROM freshness WHERE view = 'event_changes'`
  await until(async () => (await ask(isComplete)) === '1\n')
}
