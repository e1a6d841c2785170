import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { LOADER_GROUP, USAGE_TOPIC } from '../../../shared/event-log/event-log.ts'
import { runProgram } from '../../support/by-hand.ts'
import { type AuditStage, makeAuditStage } from './audit-stage.ts'
import { whileMeasuring } from './while-measuring.ts'

describe('dead letters', function () {
  this.timeout(60_000)
  let stage: AuditStage

  beforeEach(async () => {
    stage = await makeAuditStage('dead_letters')
  })
  afterEach(() => stage.close())

  const deadLetter = (count: number, bytes: number) =>
    stage.db.pool.query(
      `INSERT INTO dead_letters (topic, partition, log_offset, line, reason, value)
       SELECT $1, 0, 1000000 + n, 0, 'not JSON', convert_to(repeat('x', $3), 'UTF8') FROM generate_series(1, $2) n`,
      [USAGE_TOPIC, count, bytes],
    )

  it('are listed without their bytes, however many there are', async () => {
    await deadLetter(2_500, 80_000)
    const { result, heapMb } = await whileMeasuring(() => stage.run('dead-letters', 'list'))
    expect(result.output.match(/not JSON$/gm)).to.have.length(2_500)
    expect(heapMb, 'MB of memory').to.be.below(50)
  })

  it('show reason and bytes in one line each, whatever is in them', async () => {
    await stage.db.pool.query(
      `INSERT INTO dead_letters (topic, partition, log_offset, line, reason, value)
       VALUES ($1, 0, 1, 0, E'bad\u202e\nreason', convert_to(E'\x1b[2Jbytes\n', 'UTF8'))`,
      [USAGE_TOPIC],
    )
    const list = await stage.run('dead-letters', 'list')
    expect(list.output).to.contain(' bad\\u{202e}\\u{a}reason')
    const [, id = ''] = /^(\d+) /m.exec(list.output) ?? []
    const { output } = await stage.run('dead-letters', 'show', id)
    expect(output).to.contain('\nreason   bad\\u{202e}\\u{a}reason\n')
    expect(output).to.contain('\ntext     \\u{1b}[2Jbytes\\u{a}')
  })

  it('are retried once each, though each makes a new one', async () => {
    await deadLetter(1_200, 10)
    const done = new AbortController()
    const retried = stage.run('dead-letters', 'retry', '--all').finally(() => {
      done.abort()
    })
    while (!done.signal.aborted) await buryAgain(stage) // like the loader, which cannot read these lines either
    expect((await retried).output).to.match(/^1200 retried;/m)
    const lags = await stage.log.lag(LOADER_GROUP)
    expect(lags.reduce((sum, { end }) => sum + end, 0)).to.equal(1_200)
  })

  it('warn that a retried event enters the list of events behind those who follow it', async () => {
    const { output, code } = await runProgram('operator/main', {}, 'dead-letters', '--help')
    expect(code).to.equal(0)
    expect(output).to.match(/Readers of the list have already passed that time/)
  })
})

/** Makes dead letters of unreadable lines of the log, like a loader. */
async function buryAgain({ db, log }: AuditStage): Promise<void> {
  const records = await log.read({ partition: 0, offset: 0 }, 1e9)
  await db.pool.query(
    `INSERT INTO dead_letters (topic, partition, log_offset, line, reason, value)
     SELECT $1, 0, n, 0, 'still not JSON', 'x' FROM unnest($2::bigint[]) n ON CONFLICT DO NOTHING`,
    [USAGE_TOPIC, records.map(({ offset }) => offset)],
  )
  await sleep(20)
}
