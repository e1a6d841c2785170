import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { type OpenedClickHouse, queryRows } from '../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../shared/clickhouse/events/usage-events.ts'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { VERSION } from '../../shared/config/version.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { parseLogLine, usageEventToLine } from '../../shared/usage-lines/log-line.ts'
import { createClickHouse } from '../support/clickhouse.ts'

const FOLDER = path.join(PROJECT_ROOT, 'test/upgrade/lines')

const parsed = (line: string): UsageEvent => {
  const result = parseLogLine(line)
  if ('fault' in result) throw new Error(`${result.fault}: ${line}`)
  return result.event
}

describe('lines that a version wrote into the event log', function () {
  this.timeout(30_000)
  const files: { version: string; lines: string[] }[] = []
  let clickhouse: OpenedClickHouse

  before(async () => {
    for (const name of (await readdir(FOLDER)).sort())
      files.push({
        version: name.replace('.ndjson', ''),
        lines: (await readFile(path.join(FOLDER, name), 'utf8')).trimEnd().split('\n'),
      })
    clickhouse = await createClickHouse('lines of versions')
  })
  after(() => clickhouse.close())

  const stored = async (lines: readonly string[]) => {
    const { client } = clickhouse
    await client.command({ query: 'TRUNCATE TABLE usage_events' })
    await usageEventRepository(client).insertLines(Buffer.from(lines.map((line) => `${line}\n`).join('')))
    return queryRows<{ quantity: string; properties: string; voided: number }>(
      client,
      'SELECT toString(quantity) AS quantity, properties, voided FROM usage_events ORDER BY version',
      {},
    )
  }
  const asStored = (lines: readonly string[]) =>
    lines
      .map(parsed)
      .sort((a, b) => (a.version < b.version ? -1 : 1))
      .map(({ quantity, properties, voided }) => ({ quantity, properties, voided: voided ? 1 : 0 }))

  it('are all read and loaded by this version', async () => {
    for (const { version, lines } of files)
      expect(await stored(lines), version).to.deep.equal(asStored(lines))
  })

  it('are kept for this version as it writes them', () => {
    const own = files.find(({ version }) => version === VERSION)?.lines ?? []
    expect(own).to.have.length(4)
    expect(own.map(parsed).map(usageEventToLine)).to.deep.equal(own)
  })

  it('are read and loaded when a later version has added fields', async () => {
    for (const { lines } of files) {
      const later = lines.map((line) => line.replace(/\}$/, ',"added_later":{"a":[1]},"and_another":null}'))
      expect(later.map(parsed)).to.deep.equal(lines.map(parsed))
      expect(await stored(later)).to.deep.equal(asStored(lines))
    }
  })
})
