import { expect } from 'chai'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/usage-events.ts'
import { usageEventToLine } from '../../../shared/domain/usage-event-line.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { makeReport } from '../../support/usage-event.ts'

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
})
