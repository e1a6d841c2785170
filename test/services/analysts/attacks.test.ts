import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { attacks, attacksByUrl, REFUSALS, type Targets } from '../../../services/operator/doctor/attacks.ts'
import { type OpenedClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { type AnalystEndpoint, type Answer, startAnalysts } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'

const CANARY = 'canary-7f3a9c'

describe('attacks on the ClickHouse endpoint', () => {
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  let targets: Targets
  let untouched: Record<string, string> | undefined

  before(async () => {
    clickhouse = await createClickHouse('attacks')
    endpoint = await startAnalysts(clickhouse)
    const folder = await makeTempFolder('canary')
    targets = {
      file: path.join(folder, 'secret.txt'),
      written: path.join(folder, 'written.csv'),
      database: clickhouse.database,
      analytics: endpoint.database,
    }
    await writeFile(targets.file, `${CANARY}\n`)
    await clickhouse.client.command({
      query: `INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties, accepted_at, voided, version)
        VALUES ('${CANARY}', 'account', 'usd', 0, 'event_${'0'.repeat(32)}', 1, '${CANARY}', 0, 1, 1)`,
    })
    untouched = await traces()
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  /** Reads the state that an attack could have changed. */
  async function traces(): Promise<Record<string, string> | undefined> {
    const [row] = await queryRows<Record<string, string>>(
      clickhouse.client,
      `SELECT toString((SELECT count() FROM usage_events)) AS events,
        arrayStringConcat(arraySort(groupArray(name)), ' ') AS tables,
        toString((SELECT count() FROM system.functions WHERE origin = 'SQLUserDefined')) AS functions
      FROM system.tables WHERE database IN ({database:String}, {analytics:String})`,
      targets as unknown as Record<string, unknown>,
    )
    return row
  }

  const requireRefused = (what: string, { status, code, text }: Answer) => {
    expect(text, what).to.not.contain(CANARY)
    expect(status, `${what}: ${text}`).to.be.within(400, 501)
    expect(code, `${what}: ${text}`).to.be.oneOf(REFUSALS)
  }

  for (const kind of Object.keys(attacks({ file: '', written: '', database: 'd', analytics: 'a' })))
    it(`refuses ${kind}`, async () => {
      for (const query of attacks(targets)[kind] ?? []) requireRefused(query, await endpoint.ask(query))
    })

  it('refuses what comes in the URL', async () => {
    for (const [query, url] of attacksByUrl(targets)) {
      if (Object.keys(url).length === 0) continue
      requireRefused(`${query} with ${JSON.stringify(url)}`, await endpoint.ask(query, url))
    }
  })

  it('left no trace of any attack', async () => {
    expect(existsSync(targets.written)).to.equal(false)
    expect(await traces()).to.deep.equal(untouched)
    // The function is `property`.
    expect(untouched).to.include({ events: '1', functions: '1' })
    expect((await endpoint.ask('SELECT count() FROM events')).text).to.equal('0\n')
  })

  it('would find the canary if it could be reached: the same queries as the services run them', async () => {
    const rows = await queryRows<{ text: string }>(
      clickhouse.client,
      'SELECT concat(arrayMap(file, [{file:String}])[1], any(properties)) AS text FROM usage_events',
      { file: targets.file },
    )
    expect(rows[0]?.text).to.equal(`${CANARY}\n${CANARY}`)
  })
})
