import { hash } from 'node:crypto'
import { expect } from 'chai'
import {
  accountId,
  accountOfDraw,
  ACCOUNTS,
  insertMadeUpEvents,
  LARGEST_ACCOUNT,
  MEDIAN_ACCOUNT,
  REQUEST_IDS,
} from '../../bench/data-set/made-up-events.ts'
import { type OpenedClickHouse, queryRows } from '../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../shared/clickhouse/events/usage-events.ts'
import { usageAggregateRepository } from '../../shared/clickhouse/usage/usage-aggregates.ts'
import { type Properties, propertyPairs } from '../../shared/domain/properties.ts'
import { ALL_TIME } from '../../shared/domain/time-range.ts'
import { contentOf, reportVersion } from '../../shared/domain/usage-event.ts'
import { parseLogLine } from '../../shared/usage-lines/log-line.ts'
import { createClickHouse } from '../support/clickhouse.ts'
import { NAMESPACE } from '../support/usage-event.ts'

const madeUp = {
  namespaceId: NAMESPACE,
  metrics: [`metric_${'1'.repeat(32)}`, `metric_${'2'.repeat(32)}`],
  events: 5_000,
  startAt: 1_767_225_600,
  endAt: 1_767_225_600 + 90 * 86_400,
}

describe('usage made up by ClickHouse', function () {
  this.timeout(60_000)
  let opened: OpenedClickHouse

  before(async () => {
    opened = await createClickHouse('made-up usage')
    await insertMadeUpEvents(opened.client, madeUp, 0, 3_000)
    await insertMadeUpEvents(opened.client, madeUp, 3_000, 3_000)
  })
  after(async () => {
    await opened.close()
  })

  it('is as the gateway would have written it', async () => {
    const rows = await queryRows<{ event_id: string }>(
      opened.client,
      "SELECT concat('event_', lower(hex(id))) AS event_id FROM usage_events",
      {},
    )
    expect(rows).to.have.length(madeUp.events)
    const events = await usageEventRepository(opened.client).listByIds(
      NAMESPACE,
      rows.map((row) => row.event_id),
    )
    expect(events.size).to.equal(madeUp.events)
    const accounts = new Set(Array.from({ length: ACCOUNTS }, (_, n) => accountId(n)))
    for (const event of events.values()) {
      expect(event.version).to.equal(reportVersion(event.acceptedAt, contentOf(event)))
      expect(accounts.has(event.accountId), event.accountId).to.equal(true)
      expect(event.acceptedAt / 1e6 - event.occurredAt).to.be.within(0, 2)
    }
  })

  it('has the tokens that its properties make, and passes the loader', async () => {
    const lines = await queryRows<{ line: string; properties: string; tokens: string[] }>(
      opened.client,
      `SELECT properties, arrayMap(token -> lower(hex(token)), property_tokens) AS tokens,
        concat('{"namespace_id":"', namespace_id, '","account_id":"', account_id, '","source":"',
        source, '","occurred_at":', toString(toUnixTimestamp(occurred_at)), ',"event_id":"event_', lower(hex(id)),
        '","quantity":"', toString(quantity), '","properties":', properties, ',"property_pairs":[],"accepted_at":"',
        toString(accepted_at), '","voided":', toString(voided), ',"version":"', toString(version), '"}') AS line
      FROM usage_events LIMIT 100`,
      {},
    )
    for (const row of lines) {
      const pairs = propertyPairs(JSON.parse(row.properties) as Properties)
      expect(row.tokens).to.deep.equal(pairs.map((pair) => hash('sha256', pair, 'hex').slice(0, 24)))
      expect(parseLogLine(row.line)).to.have.property('event')
    }
  })

  it('is spread over accounts as a draw is', async () => {
    const rows = await queryRows<{ account_id: string; n: string }>(
      opened.client,
      'SELECT account_id, toString(count()) AS n FROM usage_events GROUP BY account_id ORDER BY count() DESC LIMIT 1',
      {},
    )
    expect(rows[0]?.account_id).to.equal(accountId(LARGEST_ACCOUNT))
    expect(Number(rows[0]?.n)).to.be.within(150, 350)
    expect(accountOfDraw(0)).to.equal(LARGEST_ACCOUNT)
    expect(accountOfDraw(0.05)).to.equal(1)
    expect(accountOfDraw(1 - Number.EPSILON)).to.equal(ACCOUNTS - 1)
    expect(MEDIAN_ACCOUNT).to.be.within(1, ACCOUNTS - 1)
  })

  it('is found by what its events alone have', async () => {
    const [row] = await queryRows<{ request_id: string }>(opened.client, REQUEST_IDS, { numbers: [4_321] })
    const found = await usageAggregateRepository(opened.client).aggregate(NAMESPACE, {
      range: ALL_TIME,
      property: { name: 'request_id', value: row?.request_id ?? '' },
    })
    expect([...found.values()].map(({ count }) => count)).to.deep.equal([1n])
  })
})
