import { expect } from 'chai'
import { makeReport } from '../../support/usage-event.ts'
import { countAllUsage } from '../count-usage.ts'
import { type AuditStage, makeAuditStage } from './audit-stage.ts'

const SECOND = 1_000_000
const JUNE = Date.UTC(2026, 5, 10) / 1_000
const JULY = Date.UTC(2026, 6, 10) / 1_000
/** A time after all records of the log, as if the log had dropped everything. */
const LATER = '2100-01-01T00:00:00Z'

describe('the audit of months', function () {
  this.timeout(60_000)
  let stage: AuditStage
  const acceptedAt = Date.now() * 1_000 - 60 * SECOND

  before(async () => {
    stage = await makeAuditStage('months')
    const [june, july] = [JUNE, JULY].map((occurredAt) =>
      Array.from({ length: 5 }, (_, n) => makeReport({ occurredAt: occurredAt + n, acceptedAt })),
    )
    await stage.append(0, [...(june ?? []), ...(july ?? [])], acceptedAt)
    await stage.load(0)
  })
  after(() => stage.close())

  const count = () => countAllUsage(stage.db.pool, stage.clickhouse.client, 0)
  const doctorSays = async () =>
    (await stage.run('doctor')).output.split('\n').find((line) => line.includes('usage counted'))

  it('has nothing to say as long as all is there', async () => {
    const { code, output } = await stage.run('audit')
    expect(output).to.match(/^counted by month +not yet$/m)
    expect(code).to.equal(0)
    expect(await doctorSays()).to.match(/^ok +usage counted: not yet/)
    await count()
    const again = await stage.run('audit')
    expect(again.output)
      .to.match(/^counted by month +10$/m)
      .and.to.contain('everything adds up')
    expect(again.code).to.equal(0)
    expect(await doctorSays()).to.match(/^ok +usage counted: last 0 h ago/)
  })

  it('finds a month of which parts are gone without a trace, when the log has dropped it, too', async () => {
    await stage.change('ALTER TABLE usage_events DROP PARTITION 202606')
    const { code, output } = await stage.run('audit', '--from', LATER)
    expect(output).to.match(/^lines in the log +0$/m)
    expect(output).to.contain(
      'MISSING: 5 of 5 events that occurred in 2026-06, counted before and stored no more\n1 findings',
    )
    expect(code).to.equal(1)
    await count() // this does not change the finding
    expect((await stage.run('audit', '--from', LATER)).output).to.contain('MISSING: 5 of 5 events')
    expect(await doctorSays()).to.match(
      /^failed +usage counted: ClickHouse has lost 5 events of 2026-06 that it had/,
    )
  })

  it('says so beside what the log says, and has nothing more to say once they are back', async () => {
    expect((await stage.run('audit')).output)
      .to.match(/^LOST: event_/m)
      .and.to.match(/^MISSING: 5 of 5/m)
    await stage.db.pool.query('UPDATE event_log_offsets SET next_offset = 0')
    await stage.load(0)
    const { code, output } = await stage.run('audit')
    expect(output).to.contain('everything adds up')
    expect(code).to.equal(0)
    await count()
    expect(await doctorSays()).to.match(/^ok /)
  })
})
