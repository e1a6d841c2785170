import { stopPostgres } from '../test/support/postgres.ts'
import { startServices, startSharedEngines } from '../test/support/start-services.ts'
import { expectedUsage } from './expected-usage.ts'
import { startLoadGenerator } from './load-generator.ts'
import { untilLoaded } from './load-stage.ts'
import { tallyClient } from './tally-client.ts'
import { makeBodies, makeReferences } from './usage-bodies.ts'

const BATCH = 1_000
const CONNECTIONS = 8
/** The events that wait for the loader. */
const BACKLOG_EVENTS = 2_000_000
const EXACT_WITHIN_MS = 30_000

/**
 * Measures how fast a loader in a separate process loads a backlog. First a gateway accepts events while no loader
 * runs. The log is in PostgreSQL. ClickHouse runs on the same machine, and the loader uses HTTP.
 *
 * @param seconds the longest time for which events are accepted
 * @returns rows a second from the first stored batch to the last
 */
export async function measureLoader(seconds: number): Promise<number> {
  const engines = await startSharedEngines('bench')
  const services = await startServices(engines, { LOG_LEVEL: 'error', RATE_LIMIT_EVENTS_PER_S: '1000000000' })
  const generator = startLoadGenerator()
  const client = tallyClient({ url: services.api.url, key: services.key })
  try {
    const { gateway, loader, api, key } = services
    await loader.stop()
    const bodies = makeBodies(await makeReferences({ url: api.url, key }), BATCH, true)
    const { ofBody, acknowledged } = await generator.load({
      url: `${gateway.url}/v2/events/batch`,
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      bodies: bodies.map(({ bytes }) => bytes),
      connections: CONNECTIONS,
      seconds,
      requestsMax: BACKLOG_EVENTS / BATCH,
    })
    await loader.restart()
    const looks = await untilLoaded(loader.adminUrl, acknowledged * BATCH)
    const first = looks.find(({ rows }) => rows > 0)
    const last = looks.at(-1)
    if (first === undefined || last === undefined || first === last)
      throw new Error('too few events to measure')
    const expected = expectedUsage()
    expected.add(bodies, ofBody)
    await expected.requireExact(client, EXACT_WITHIN_MS)
    return ((last.rows - first.rows) / (last.at - first.at)) * 1_000
  } finally {
    client.close()
    await generator.close()
    await services.stop()
    await engines.close()
    await stopPostgres()
  }
}
