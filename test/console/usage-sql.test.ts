import { expect } from 'chai'
import { type SqlQuestion, usageSql } from '../../console/src/format/usage-sql.ts'
import { makeAnalystViews } from '../../shared/clickhouse/analyst-views.ts'
import type { OpenedClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { makeWorld, storeWorld, TOKENS, type World } from '../services/analysts/question-world.ts'
import { type AnalystEndpoint, startAnalysts } from '../support/analysts.ts'
import { createClickHouse } from '../support/clickhouse.ts'
import { unitsOf } from '../support/decimal-units.ts'
import { naiveGroups } from '../support/naive-groups.ts'
import { NAMESPACE } from '../support/usage-event.ts'

const DAY_S = 86_400

describe('the statement that the console shows for all groups', () => {
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  let world: World

  before(async () => {
    clickhouse = await createClickHouse('console-sql')
    const { client, database } = clickhouse
    await makeAnalystViews(client, { database, into: `${database}_analytics`, namespaceId: NAMESPACE })
    world = makeWorld()
    await storeWorld(clickhouse, world)
    endpoint = await startAnalysts(clickhouse)
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  const rowsOf = async (question: SqlQuestion) => {
    const { status, text } = await endpoint.ask(usageSql(question), { default_format: 'JSONEachRow' })
    expect(status, text).to.equal(200)
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map(
        (line) =>
          JSON.parse(line) as {
            account_id?: string
            value?: string
            used: string | number
            event_count: string | number
          },
      )
  }

  for (const groupBy of ['account', 'property'] as const)
    for (const aggregation of ['sum', 'min', 'max', 'avg', 'latest', 'count'] as const)
      for (const source of [TOKENS, 'usd'])
        it(`says what a plain loop says: ${aggregation} of ${source} by ${groupBy}`, async () => {
          const range = { startAt: world.today - 30 * DAY_S, endAt: world.today }
          const naive = naiveGroups(world.rows.model(NAMESPACE), {
            range,
            source,
            accountId: undefined,
            aggregation,
            period: undefined,
            limit: 1_000,
            property: groupBy === 'property' ? 'model' : undefined,
          })
          const expected = [
            ...naive.data.map(({ name, quantity, count }) => [name, digitsOf(quantity), count]),
            ...(naive.without === undefined
              ? []
              : [['', digitsOf(naive.without.quantity), naive.without.count]]),
          ]
          const found = await rowsOf({
            ...range,
            source,
            isMetric: source === TOKENS,
            aggregation,
            groupBy,
            property: groupBy === 'property' ? 'model' : '',
          })
          expect(naive.data.length).to.be.greaterThan(2)
          expect(
            found.map(({ account_id: account, value, used, event_count: count }) => [
              account ?? value,
              digitsOf(String(used)),
              Number(count),
            ]),
          ).to.have.deep.members(expected)
        })

  /** An average has more digits than fit. ClickHouse cuts off the last one, and Tally rounds it. */
  const digitsOf = (quantity: string): bigint => (unitsOf(quantity) + 5n) / 10n

  it('quotes what stands in an address', async () => {
    const source = `x' OR e.quantity > 0 OR '\\`
    for (const groupBy of ['account', 'property'] as const)
      expect(
        await rowsOf({
          source,
          isMetric: false,
          aggregation: 'max',
          startAt: 0,
          endAt: world.today,
          groupBy,
          property: 'model',
        }),
      ).to.deep.equal([])
  })
})
