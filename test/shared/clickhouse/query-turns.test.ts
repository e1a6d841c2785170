import { expect } from 'chai'
import {
  type ClickHouse,
  forLongReads,
  type OpenedClickHouse,
  queryRows,
} from '../../../shared/clickhouse/clickhouse.ts'
import { tenantOf } from '../../../shared/clickhouse/query-turns.ts'
import { createBareClickHouse } from '../../support/clickhouse.ts'

const CONNECTIONS = 4
const SLOW_S = 0.3

describe('queries of several companies', function () {
  this.timeout(60_000)
  let opened: OpenedClickHouse

  before(async () => {
    opened = await createBareClickHouse('query_turns', CONNECTIONS)
  })
  after(() => opened.close())

  const slow = (client: ClickHouse, namespaceId: string) =>
    queryRows(client, `SELECT sleep(${SLOW_S})`, { namespaceId })
  const quick = (client: ClickHouse, namespaceId: string) => queryRows(client, 'SELECT 1', { namespaceId })
  /** @returns a promise that resolves when no query is left, and the number of queries that are left */
  const count = (queries: readonly Promise<unknown>[]) => {
    let left = queries.length
    return { all: Promise.all(queries.map((query) => query.then(() => left--))), left: () => left }
  }

  it('take turns: who asks for much waits for themselves', async () => {
    const { client } = opened
    const greedy = count(Array.from({ length: 4 * CONNECTIONS }, () => slow(client, 'a')))
    await quick(client, 'b')
    // All at once, because a company never gets the last connection.
    expect(greedy.left()).to.equal(4 * CONNECTIONS)
    const others = ['b', 'c', 'd'].map((namespaceId) => slow(client, namespaceId))
    await Promise.all(others)
    expect(greedy.left()).to.be.above(2 * CONNECTIONS)
    await greedy.all
  })

  it('that take long leave connections to short ones, of the same company too', async () => {
    const { client } = opened
    const patient = forLongReads(client)
    const greedy = count(Array.from({ length: 2 * CONNECTIONS }, (_, n) => slow(patient, n % 2 ? 'a' : 'b')))
    await new Promise(setImmediate) // then the next query has a connection
    await Promise.all([quick(client, 'a'), quick(client, 'b')])
    expect(greedy.left()).to.equal(2 * CONNECTIONS)
    await greedy.all
  })

  it('that failed have given back what they took', async () => {
    const patient = forLongReads(opened.client)
    for (let n = 0; n < 2 * CONNECTIONS; n++)
      await queryRows(patient, 'SELECT nothing', { namespaceId: 'a' }).catch(() => undefined)
    await Promise.all(Array.from({ length: CONNECTIONS }, () => quick(patient, 'a')))
  })

  it('are theirs by their parameters, and those of several are nobody’s', () => {
    expect(tenantOf({ namespaceId: 'a' })).to.equal('a')
    expect(tenantOf({ namespaceIds: ['a'] })).to.equal('a')
    expect(tenantOf({ namespaceIds: ['a', 'b'] })).to.equal('')
    expect(tenantOf({})).to.equal('')
  })
})
