import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningTally } from '../../support/start-tally.ts'

/** Tally's usage of one account: `sum/count` by the metric's name or the currency. */
export type Answers = Record<string, string>

interface UsageBody {
  events_consumed: { metric_name: string | null; currency: string | null; quantity: string }[]
}

type Reachable = Pick<RunningTally, 'url' | 'key'>

/** ISO 4217 reserves this code for tests. */
const MARKER_CURRENCY = 'xts'
const VISIBLE_MS = 30_000

/** Sends a request to Tally, which must be answered with 200 or 202. */
export async function askJson<T>(tally: Reachable, path: string, body?: object): Promise<T> {
  const response = await fetch(`${tally.url}${path}`, {
    headers: { 'x-api-key': tally.key, 'Content-Type': 'application/json' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  if (![200, 202].includes(response.status))
    throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as T
}

export const accountIdOf = async (tally: Reachable, externalId: string): Promise<string> =>
  (await askJson<{ id: string }>(tally, `/v2/accounts/external-id/${encodeURIComponent(externalId)}`)).id

/**
 * All usage of an account, when all earlier reports are counted. It reports a marker and waits for it, because the
 * events of an account are counted in the order of their acceptance.
 */
export async function usageOf(tally: Reachable, externalId: string): Promise<Answers> {
  const id = await accountIdOf(tally, externalId)
  await waitForMarker(tally, id)
  const ask = (aggregation: string) =>
    askJson<UsageBody>(
      tally,
      `/v2/accounts/${id}/usage?start_at=0&end_at=4294967295&aggregation=${aggregation}`,
    )
  const [sums, counts] = [await ask('sum'), await ask('count')]
  const all = sums.events_consumed.map(
    ({ metric_name: name, currency, quantity }, index): [string, string] => [
      name ?? currency ?? '',
      `${quantity}/${counts.events_consumed[index]?.quantity ?? ''}`,
    ],
  )
  return Object.fromEntries(all.filter(([source]) => source !== MARKER_CURRENCY))
}

async function waitForMarker(tally: Reachable, accountId: string): Promise<void> {
  const total = async () => {
    const path = `/v2/accounts/${accountId}/balance?currency=${MARKER_CURRENCY}`
    return Number((await askJson<{ usage_total: string }>(tally, path)).usage_total)
  }
  const before = await total()
  await askJson(tally, '/v2/events', { account_id: accountId, currency: MARKER_CURRENCY, quantity: '1' })
  const deadline = performance.now() + VISIBLE_MS
  while ((await total()) <= before) {
    if (performance.now() > deadline) throw new Error('an accepted event did not become visible')
    await sleep(30)
  }
}
