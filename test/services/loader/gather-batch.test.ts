import { expect } from 'chai'
import { batchGatherer } from '../../../services/loader/gather-batch.ts'
import type { LogRecord } from '../../../shared/event-log/event-log.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { testLog } from '../../support/log.ts'
import { makeReport } from '../../support/usage-event.ts'
import { countTurns } from './count-turns.ts'

describe('gathering batches', () => {
  const value = Buffer.from(Array.from({ length: 500 }, () => usageEventToLine(makeReport())).join('\n'))
  const records: LogRecord[] = Array.from({ length: 100 }, (_, n) => ({
    partition: n % 2,
    offset: Math.floor(n / 2),
    acceptedAt: 1,
    value,
  }))
  const gatherAll = async (batchRowsMax: number) => {
    const polled = [[...records]]
    const gather = batchGatherer(
      { poll: () => Promise.resolve(polled.shift() ?? []) },
      { batchRowsMax, batchBytesMax: 1e9, flushMs: 0 },
      testLog,
      () => false,
    )
    const batches = []
    for (let rows = 0; rows < 50_000; rows += batches.at(-1)?.rows ?? 0)
      batches.push(await gather(new AbortController().signal))
    return batches
  }

  it('ends a batch with the record that fills it, and keeps the rest for the next', async () => {
    const batches = await gatherAll(19_800)
    expect(batches.map(({ rows }) => rows)).to.deep.equal([20_000, 20_000, 10_000])
    expect(batches.map(({ positions }) => [...positions])).to.deep.equal([
      [
        [0, 20],
        [1, 20],
      ],
      [
        [0, 40],
        [1, 40],
      ],
      [
        [0, 50],
        [1, 50],
      ],
    ])
  })

  it('goes on with a batch for as long as the one before it is stored', async () => {
    const polled = records.map((record) => [record])
    let isStoring = true
    const gather = batchGatherer(
      {
        poll: () => {
          isStoring = polled.length > 60
          return Promise.resolve(polled.shift() ?? [])
        },
      },
      { batchRowsMax: 1e9, batchBytesMax: 1e9, flushMs: 0 },
      testLog,
      () => isStoring,
    )
    const { signal } = new AbortController()
    expect((await gather(signal)).rows).to.equal(41 * 500)
    expect((await gather(signal)).rows, 'with nothing under way').to.equal(500)
  })

  it('lets others have their turn while it reads many lines', async () => {
    const startedAt = performance.now()
    const turns = await countTurns(() => gatherAll(1e9))
    // About every five milliseconds, plus the time to read a record.
    expect(turns).to.be.greaterThan((performance.now() - startedAt) / 50)
  })
})
