import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'
import { contentOf, reportVersion, usageEventId } from '../shared/domain/usage-event.ts'
import { parseLogLine, usageEventToLine } from '../shared/usage-lines/log-line.ts'

describe('docs/event-log.md', () => {
  it('shows an event as the gateway writes it', async () => {
    const document = await readFile(path.join(PROJECT_ROOT, 'docs/event-log.md'), 'utf8')
    const example: unknown = JSON.parse(/```json\n(.*?)```/s.exec(document)?.[1] ?? '')
    const [, key = ''] = /idempotency key `(.*?)`/.exec(document) ?? []
    const parsed = parseLogLine(JSON.stringify(example))
    if ('fault' in parsed) throw new Error(parsed.fault)
    const { event } = parsed
    const { namespaceId, accountId, source, occurredAt, acceptedAt } = event
    expect(event.id).to.equal(
      usageEventId(namespaceId, accountId, source, occurredAt, { kind: 'event', key }),
    )
    expect(event.version).to.equal(reportVersion(acceptedAt, contentOf(event)))
    expect(JSON.parse(usageEventToLine(event))).to.deep.equal(example)
  })
})
