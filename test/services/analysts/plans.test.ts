import { expect } from 'chai'
import { scopeOfCompany } from '../../../services/analysts/analyst-scope.ts'
import { fixedUsers } from '../../../services/analysts/endpoint-user.ts'
import { makeAnalystViews } from '../../../shared/clickhouse/analyst-views.ts'
import { companyDatabase } from '../../../shared/clickhouse/analytics-database.ts'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { type AnalystEndpoint, askAt, PASSWORD, startAnalysts } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'

const OWN = '018cc251-f400-7000-8000-00000000ac3e'
const OTHER = '018cc251-f400-7000-8000-0000000000be'
const PARTS = 40

describe('plans of queries of a company', function () {
  this.timeout(60_000)
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint

  before(async () => {
    clickhouse = await createClickHouse('plans')
    const { client, database } = clickhouse
    await client.command({ query: 'SYSTEM STOP MERGES rated_periods' })
    // Each part has a granule of both companies, which begins with a contract of the other one.
    for (let part = 0; part < PARTS; part++)
      await client.command({
        query: `INSERT INTO rated_periods (namespace_id, contract_id, starts_at, line_day, version)
          SELECT if(number < 16000, '${OTHER}', '${OWN}'), concat('contract_', toString(number), '_${part}'), 0, ['2026-01-01'], 1
          FROM numbers(${part % 2 === 0 ? 24_000 : 16_300})`,
      })
    const into = companyDatabase(database, 1)
    await makeAnalystViews(client, { database, into, namespaceId: OWN })
    endpoint = await startAnalysts(clickhouse, {
      limits: { threads: 4 },
      others: (analysts) =>
        fixedUsers([
          {
            ...analysts.userOf({ name: 'ada', company: 'acme', scope: scopeOfCompany(database, 1) }),
            password: PASSWORD,
          },
        ]),
    })
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  it('have no key of another company, and do not tell how much it has', async () => {
    const authorization = `Basic ${Buffer.from(`ada:${PASSWORD}`).toString('base64')}`
    for (const kind of ['PIPELINE', 'PLAN', 'indexes = 1, projections = 1, actions = 1']) {
      const query = `EXPLAIN ${kind} SELECT count() FROM rated_usage`
      const { status, text } = await askAt(endpoint.url, query, {}, { authorization })
      expect(status, text).to.equal(200)
      expect(text).to.include('ReadFromMergeTree')
      expect(text).to.not.match(new RegExp(`${OTHER}|contract_\\d`))
      if (kind === 'PIPELINE') expect(text.match(/MergeTreeSelect/g), text).to.have.length(1)
    }
  })
})
