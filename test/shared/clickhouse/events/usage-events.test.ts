import { expect } from 'chai'
import type { OpenedClickHouse } from '../../../../shared/clickhouse/clickhouse.ts'
import { usageEventListRepository } from '../../../../shared/clickhouse/events/usage-event-list.ts'
import { usageEventRepository } from '../../../../shared/clickhouse/events/usage-events.ts'
import { usageAggregateRepository } from '../../../../shared/clickhouse/usage/usage-aggregates.ts'
import { usageEventToLine } from '../../../../shared/usage-lines/log-line.ts'
import { createClickHouse } from '../../../support/clickhouse.ts'
import { makeReport, NAMESPACE } from '../../../support/usage-event.ts'

describe('usage events in ClickHouse', function () {
  this.timeout(60_000)
  let opened: OpenedClickHouse

  before(async () => {
    opened = await createClickHouse('usage events')
  })
  after(async () => {
    await opened.close()
  })

  it('are found by any number of ids', async () => {
    const events = usageEventRepository(opened.client)
    const reports = Array.from({ length: 20_000 }, (_, i) =>
      makeReport({ key: `many ${i}`, occurredAt: 1_767_225_600 + (i % 5_000) }),
    )
    await events.insertLines(Buffer.from(reports.map(usageEventToLine).join('\n')))
    const [first] = reports
    const found = await events.listByIds(
      first?.namespaceId ?? '',
      reports.map(({ id }) => id),
    )
    expect(found.size).to.equal(reports.length)
    for (const { id, occurredAt } of reports) expect(found.get(id)?.occurredAt).to.equal(occurredAt)
  })

  it('are found the same in parts whose indexes are built and in those where they are yet to be', async () => {
    const { client } = opened
    const events = usageEventRepository(client)
    const accounts = ['b', 'c', 'd'].map((digit) => `account_${digit.repeat(32)}`)
    const occurredAt = 1_769_904_000
    const acceptedSecond = occurredAt + 10
    const store = async (from: number) => {
      const reports = Array.from({ length: 15_000 }, (_, i) => {
        const color = (from + i) % 5_000 === 0 ? 'rare' : 'common'
        return makeReport({
          key: `indexed ${from + i}`,
          occurredAt: occurredAt + (i % 300),
          acceptedAt: (acceptedSecond + Math.floor((from + i) / 15_000)) * 1_000_000 + i,
          accountId: accounts[i % 1_000 === 0 ? 0 : 1 + (i % 2)] ?? '',
          source: i % 3_000 === 0 ? 'eur' : 'usd',
          properties: JSON.stringify({ color }),
          propertyPairs: [`color=${color}`],
        })
      })
      // One event is inserted twice, because merges collapse the rows of an event later.
      await events.insertLines(
        Buffer.from([...reports, ...reports.slice(0, 1)].map(usageEventToLine).join('\n')),
      )
    }
    const look = async () => {
      const range = { startAt: occurredAt, endAt: occurredAt + 300 }
      const rare = await usageAggregateRepository(client).aggregate(NAMESPACE, {
        range,
        property: { name: 'color', value: 'rare' },
      })
      const listed = await usageEventListRepository(client).listByAcceptance(
        NAMESPACE,
        { accountId: accounts[0], source: 'eur' },
        { order: 'oldest', limit: 1_000, after: undefined, before: acceptedSecond + 100 },
      )
      const counts = [...rare].map(([source, { count = 0n }]) => [source, Number(count)])
      return { rare: Object.fromEntries(counts) as Record<string, number>, listed: listed.length }
    }
    const ofBoth = async (statement: (table: string) => string) => {
      for (const table of ['usage_events', 'usage_events_by_acceptance'])
        await client.command({ query: statement(table) })
    }
    const stopMerges = () => ofBoth((table) => `SYSTEM STOP MERGES ${table}`)
    const merge = async () => {
      await ofBoth((table) => `SYSTEM START MERGES ${table}`)
      await ofBoth((table) => `OPTIMIZE TABLE ${table} FINAL`)
    }
    await stopMerges()
    await store(0)
    const once = { rare: { eur: 1, usd: 2 }, listed: 5 }
    expect(await look(), 'built nowhere').to.deep.equal(once)
    await merge()
    expect(await look(), 'built').to.deep.equal(once)
    await stopMerges()
    await store(15_000)
    const twice = { rare: { eur: 2, usd: 4 }, listed: 10 }
    expect(await look(), 'built here and not there').to.deep.equal(twice)
    await merge()
    expect(await look(), 'built again').to.deep.equal(twice)
  })
})
