import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { makeCorrection, makeReport } from '../../support/usage-event.ts'
import { type AuditStage, makeAuditStage } from './audit-stage.ts'
import { fillLog } from './fill-log.ts'
import { whileMeasuring } from './while-measuring.ts'

const COLUMNS =
  'namespace_id, account_id, source, occurred_at, event_id, quantity, properties, accepted_at, version'

const CORRECTED = `${COLUMNS}, corrected_at, voided`

/** A statement that writes another row of an event, which Tally itself never does. */
const copyOf = (id: string, change: string, newId = id, columns = COLUMNS): string => `
  INSERT INTO usage_events (${columns}) SELECT ${columns.replace('event_id', `'${newId}'`)}
  FROM (SELECT * REPLACE (${change}) FROM usage_events FINAL WHERE id = unhex('${id.slice(6)}'))`

describe('auditing usage', function () {
  this.timeout(300_000)
  let stage: AuditStage

  beforeEach(async () => {
    stage = await makeAuditStage('usage')
  })
  afterEach(() => stage.close())

  it('stays small and lets others work, however much was accepted at once, and finds each kind of fault', async () => {
    const count = 250_000
    const from = (Math.floor(Date.now() / 1_000) - 120) * 1e6
    const some = await fillLog(stage.log, { count, from, seconds: 60, recordLines: 250, bytes: 1_100 })
    for (let partition = 0; partition < stage.log.partitions; partition++) await stage.load(partition)
    const [deleted = '', changed = '', planted = '', doubled = '', moved = ''] = some.map(({ id }) => id)
    const foreign = `${planted.slice(0, 14)}${'ab'.repeat(12)}`
    await stage.change(copyOf(changed, 'quantity + 1 AS quantity'))
    await stage.change(copyOf(planted, 'voided AS voided', foreign))
    await stage.change(copyOf(doubled, "'eur' AS source"))
    await stage.change(copyOf(moved, 'occurred_at - 86400 AS occurred_at'))
    await stage.change(`DELETE FROM usage_events WHERE id = unhex('${deleted.slice(6)}')`)

    const usage = await whileMeasuring(() => stage.run('audit', '--round-lines', '100000'))
    const { output } = usage.result
    expect(output).to.match(new RegExp(`lines in the log +${count}$`, 'm'))
    expect(output).to.match(/lost +1$/m)
    expect(output).to.match(new RegExp(`counted +${count - 1}$`, 'm'))
    expect(output).to.match(new RegExp(`^LOST: ${deleted} .*neither counted nor in the dead letters`, 'm'))
    expect(output).to.match(new RegExp(`^ALTERED: ${changed} .*quantity is 2, the log has 1$`, 'm'))
    expect(output).to.match(new RegExp(`^NOT IN THE LOG: ${foreign}`, 'm'))
    expect(output).to.match(new RegExp(`^DOUBLED: ${doubled}`, 'm'))
    expect(output).to.match(new RegExp(`^MISPLACED: ${moved}`, 'm'))
    expect(output).to.contain('5 findings')
    expect(usage.result.code).to.equal(1)
    expect(usage.heapMb, 'MB of memory').to.be.below(250)
    expect(usage.stallMs, 'ms in which nothing else could run').to.be.below(500)
  })

  it('finds faults that cancel each other in every sum and count, among many events that are as they should be', async () => {
    const from = (Math.floor(Date.now() / 1_000) - 120) * 1e6
    const second = Math.floor(from / 1e6)
    const more = { acceptedAt: from, occurredAt: second }
    const [plus, minus, twice, gone, unlisted, early] = ['1', '2', '3', '4', '5', '6'].map((quantity) =>
      makeReport({ ...more, quantity }),
    ) as [UsageEvent, UsageEvent, UsageEvent, UsageEvent, UsageEvent, UsageEvent]
    // An event in another slot, where it is looked up among many others.
    const lone = makeReport({ acceptedAt: from, occurredAt: second - 86_400 })
    const repeated = makeReport({ ...more, key: 'again' })
    const again = makeReport({ ...more, key: 'again', acceptedAt: from + 30e6 })
    await stage.append(0, [plus, minus, twice, gone, unlisted, early, lone, repeated], from)
    await fillLog(stage.log, { count: 20_000, from, seconds: 60, recordLines: 500, bytes: 10 })
    await stage.append(1, [again], from + 30e6)
    await stage.load(0)
    await stage.load(1)
    const beside = (second - 86_400).toString(16)
    await stage.change(`
      INSERT INTO usage_events (${COLUMNS}) SELECT namespace_id, account_id, source, ${second - 86_400},
        concat('event_${beside}', lower(hex(substring(SHA256(toString(number)), 1, 12)))), 1, '{}', ${(from - 86_400e6) / 1e6}, 1
      FROM usage_events, numbers(5000) AS numbers WHERE id = unhex('${lone.id.slice(6)}')`)
    const clean = await stage.run('audit', '--from', new Date(from / 1e3).toISOString())
    expect(clean.output).to.match(/reported again +1$/m)
    expect(clean.output).to.match(/events in ClickHouse +20008$/m)
    expect(clean.code, clean.output).to.equal(0)

    const planted = `${gone.id.slice(0, 14)}${'cd'.repeat(12)}`
    await stage.change(copyOf(plus.id, 'quantity + 1 AS quantity'))
    await stage.change(copyOf(minus.id, 'quantity - 1 AS quantity'))
    await stage.change(copyOf(twice.id, `'account_${'b'.repeat(32)}' AS account_id`))
    await stage.change(copyOf(gone.id, 'voided AS voided', planted))
    await stage.change(copyOf(early.id, 'accepted_at + toIntervalMicrosecond(1) AS accepted_at'))
    await stage.change(copyOf(lone.id, `'{"a":1}' AS properties`))
    await stage.change(`DELETE FROM usage_events WHERE id = unhex('${gone.id.slice(6)}')`)
    await stage.change(`DELETE FROM usage_events_by_acceptance WHERE id = unhex('${unlisted.id.slice(6)}')`)
    const { output, code } = await stage.run('audit', '--from', new Date(from / 1e3).toISOString())
    expect(output).to.match(new RegExp(`^ALTERED: ${plus.id} .*quantity is 2, the log has 1$`, 'm'))
    expect(output).to.match(new RegExp(`^ALTERED: ${minus.id} .*quantity is 1, the log has 2$`, 'm'))
    expect(output).to.match(new RegExp(`^ALTERED: ${early.id} .*acceptedAt is `, 'm'))
    expect(output).to.match(new RegExp(`^ALTERED: ${lone.id} .*properties is {"a":1}, the log has {}$`, 'm'))
    expect(output).to.match(new RegExp(`^DOUBLED: ${twice.id}`, 'm'))
    expect(output).to.match(new RegExp(`^LOST: ${gone.id} `, 'm'))
    expect(output).to.match(new RegExp(`^NOT IN THE LOG: ${planted}`, 'm'))
    expect(output).to.match(new RegExp(`^UNLISTED: ${unlisted.id} `, 'm'))
    expect(output).to.match(/^ACCOUNT UNKNOWN: account_b{32}: /m)
    expect(output).to.contain('9 findings')
    expect(code).to.equal(1)
  })

  it('counts what a reset has taken away by itself, before its rows are deleted, while they are, and after', async () => {
    const { pool } = stage.db
    const company = { id: randomUUID(), name: 'sandbox', mode: 'test' as const, namespaceId: randomUUID() }
    await withTransaction(pool, (db) => companyRepository(db).insert(company))
    const from = (Math.floor(Date.now() / 1_000) - 60) * 1e6
    const { namespaceId } = company
    const gone = [1, 2, 3].map((n) => makeReport({ namespaceId, acceptedAt: from + n }))
    const kept = makeReport({ acceptedAt: from })
    await stage.append(0, [...gone, kept], from)
    await stage.load(0)
    await stage.makeAccount(namespaceId)
    for (const [n, event] of gone.entries())
      await stage.keepCorrection(event, makeCorrection(event, { quantity: '5' }), n > 0)
    expect((await stage.run('audit', '--lag-max-s', '0')).output).to.match(/^NOT SENT: /m)
    await withTransaction(pool, (db) => companyRepository(db).replaceNamespace(company.id, randomUUID()))
    const expectClean = async () => {
      const { code, output } = await stage.run('audit', '--lag-max-s', '0')
      expect(output).to.match(/of what was reset +3$/m)
      expect(output).to.match(/ counted +1$/m)
      expect(code, output).to.equal(0)
    }
    await expectClean()
    await stage.change(`DELETE FROM usage_events WHERE namespace_id = '${namespaceId}'`)
    await expectClean()
    await stage.change(`DELETE FROM usage_events_by_acceptance WHERE namespace_id = '${namespaceId}'`)
    await expectClean()
    await stage.change(`DELETE FROM usage_events WHERE id = unhex('${kept.id.slice(6)}')`)
    expect((await stage.run('audit')).output).to.match(/lost +1$/m)
  })

  it('holds nothing against lines that come late, nor against corrections, unless nobody made them', async () => {
    const from = (Math.floor(Date.now() / 1_000) - 120) * 1e6
    const late = makeReport({ acceptedAt: from + 5e6 })
    const corrected = makeReport({ acceptedAt: from })
    const conjured = makeReport({ acceptedAt: from })
    await stage.append(0, [corrected, conjured], from)
    await fillLog(stage.log, { count: 110_000, from, seconds: 60, recordLines: 500, bytes: 10 })
    await stage.append(1, [late], from + 5e6)
    const correction = makeCorrection(corrected, { quantity: '5' })
    await stage.keepCorrection(corrected, correction)
    await stage.append(0, [correction], from + 100e6)
    await stage.load(0)
    await stage.load(1)
    const clean = await stage.run('audit', '--round-lines', '100000')
    expect(clean.output).to.match(/reported again +1$/m)
    expect(clean.output).to.match(/events in ClickHouse +110003$/m)
    expect(clean.code, clean.output).to.equal(0)
    await stage.change(
      copyOf(conjured.id, "version + 256 AS version, toDateTime64(now() - 60, 6, 'UTC') AS corrected_at"),
    )
    const { output } = await stage.run('audit', '--round-lines', '100000')
    expect(output).to.match(new RegExp(`^SUPERSEDED BY NOBODY: ${conjured.id}`, 'm'))
    expect(output).to.contain('1 findings')
  })

  it('finds corrections that do not count, that count altered, and that nobody sent, by the time they were made', async () => {
    const acceptedAt = (Math.floor(Date.now() / 1_000) - 120) * 1e6
    const reports = Array.from({ length: 6 }, () => makeReport({ acceptedAt }))
    const [amended, voided, twice, altered, unsent, fine] = reports as [UsageEvent, ...UsageEvent[]]
    const changes = new Map<UsageEvent | undefined, Partial<UsageEvent>>([
      [voided, { voided: true }],
      [amended, { quantity: '2' }],
      [twice, { quantity: '3' }],
      [altered, { quantity: '4' }],
      [unsent, { quantity: '5' }],
      [fine, { quantity: '6' }],
    ])
    await stage.append(0, reports, acceptedAt)
    const corrections = reports.map((event) => makeCorrection(event, changes.get(event) ?? {}))
    for (const [n, event] of reports.entries())
      await stage.keepCorrection(event, corrections[n] as UsageEvent, event !== unsent)
    const last = makeCorrection(corrections[2] as UsageEvent, { quantity: '7' })
    await stage.keepCorrection(twice as UsageEvent, last)
    await stage.append(0, corrections.slice(2, 4).concat(corrections[5] ?? []), acceptedAt)
    await stage.load(0)
    await stage.change(copyOf(altered?.id ?? '', 'quantity + 1 AS quantity', undefined, CORRECTED))
    const { output, code } = await stage.run('audit', '--lag-max-s', '0')
    const notApplied = (event: UsageEvent | undefined, how: string) =>
      new RegExp(`^NOT APPLIED: ${event?.id ?? ''}: ${how} at 20\\S+Z, and counted is still `, 'm')
    expect(output).to.match(notApplied(amended, 'corrected'))
    expect(output).to.match(notApplied(voided, 'voided'))
    expect(output).to.match(notApplied(twice, 'corrected'))
    expect(output).to.match(new RegExp(`^NOT SENT: ${unsent?.id ?? ''}: corrected at 20`, 'm'))
    expect(output).to.match(new RegExp(`^ALTERED: ${altered?.id ?? ''}.*quantity is 5, `, 'm'))
    expect(output).to.match(/^corrections +7$/m)
    expect(output).to.match(/^ {2}not applied +3$/m)
    expect(output).to.match(/^ {2}on their way +1$/m)
    expect(output).to.match(/^ {2}counted +3$/m)
    expect(output).not.to.contain(fine?.id)
    expect(code, output).to.equal(1)
    const past = await stage.run('audit', '--to', '2020-01-01T00:00:00Z', '--lag-max-s', '0')
    expect(past.output).to.match(/^corrections +0$/m)
    await stage.append(0, [corrections[0], corrections[1], corrections[4], last] as UsageEvent[], acceptedAt)
    await stage.load(0)
    const healed = await stage.run('audit')
    expect(healed.output).to.match(/^ {2}corrected again +1$/m)
    expect(healed.output).to.contain('1 findings') // the altered one
  })

  it('waits for corrections that are sent and not loaded yet, and holds nothing against them', async () => {
    const acceptedAt = (Math.floor(Date.now() / 1_000) - 120) * 1e6
    const report = makeReport({ acceptedAt })
    await stage.append(0, [report], acceptedAt)
    await stage.load(0)
    const correction = makeCorrection(report, { quantity: '2' })
    await stage.keepCorrection(report, correction)
    await stage.append(0, [correction], Date.now() * 1_000)
    const [waiting] = await Promise.all([stage.run('audit'), sleep(700).then(() => stage.load(0))])
    expect(waiting.output).to.match(/^corrections +1\n {2}counted +1$/m)
    expect(waiting.code, waiting.output).to.equal(0)
    const another = makeCorrection(correction, { quantity: '3' })
    await stage.keepCorrection(report, another)
    await stage.append(0, [another], Date.now() * 1_000)
    const behind = await stage.run('audit')
    expect(behind.output).to.match(/^ {2}on their way +1$/m)
    expect(behind.code, behind.output).to.equal(0)
  })

  it('finds a correction that is counted and that nobody made, though it is in the log', async () => {
    const acceptedAt = (Math.floor(Date.now() / 1_000) - 120) * 1e6
    const report = makeReport({ acceptedAt })
    await stage.append(0, [report, makeCorrection(report, { voided: true })], acceptedAt)
    await stage.load(0)
    const { output, code } = await stage.run('audit')
    expect(output).to.match(new RegExp(`^SUPERSEDED BY NOBODY: ${report.id}`, 'm'))
    expect(code, output).to.equal(1)
  })

  it('finds corrections and accounts that a PostgreSQL lacks because it is older', async () => {
    const now = Math.floor(Date.now() / 1_000) * 1e6
    const accountId = `account_${'c'.repeat(32)}`
    const report = makeReport({ acceptedAt: now - 3_600e6 })
    const correction = makeCorrection(report, { quantity: '7', correctedAt: now - 60e6 })
    const named = makeReport({ acceptedAt: now - 60e6, accountId })
    await stage.append(0, [report, correction, named], now - 60e6)
    await stage.load(0)
    const { output, code } = await stage.run('audit', '--from', new Date(now / 1e3 - 300_000).toISOString())
    const older = 'Is PostgreSQL older than ClickHouse?'
    expect(output).to.contain(`CORRECTION UNKNOWN: ${report.id}: stored as corrected at `)
    expect(output).to.contain(`ACCOUNT UNKNOWN: ${accountId}: it has usage. ${older}`)
    expect(output).to.contain('2 findings')
    expect(code, output).to.equal(1)
  })

  it('lists keys that were used for several times, until one of their events is voided', async () => {
    const acceptedAt = (Math.floor(Date.now() / 1_000) - 120) * 1e6
    const one = makeReport({ acceptedAt, key: 'reused', occurredAt: 1_767_225_600 })
    const two = makeReport({ acceptedAt: acceptedAt + 30e6, key: 'reused', occurredAt: 1_767_225_601 })
    await stage.append(0, [one, two, makeReport({ acceptedAt })], acceptedAt)
    await stage.load(0)
    const { output, code } = await stage.run('audit')
    expect(output).to.contain(`ONE KEY, SEVERAL TIMES: ${[one.id, two.id].sort().join(', ')}\n`)
    expect(code, output).to.equal(0)
    const voided = makeCorrection(two, { voided: true })
    await stage.keepCorrection(two, voided)
    await stage.append(0, [voided], Date.now() * 1_000)
    await stage.load(0)
    const settled = await stage.run('audit')
    expect(settled.output).not.to.contain('ONE KEY')
    expect(settled.code, settled.output).to.equal(0)
  })

  it('tells a repeat from another content under the same id, which it lists and holds against nobody', async () => {
    const acceptedAt = (Math.floor(Date.now() / 1_000) - 120) * 1e6
    const at = (seconds: number) => ({ acceptedAt: acceptedAt + seconds * 1e6 })
    const properties = '{"model":"large","tags":{"b":1,"a":2}}'
    const turned = '{"tags":{"a":2,"b":1},"model":"large"}'
    const named = (key: string) => ({ key, quantity: '5', properties })
    const reports = [
      makeReport({ ...named('repeated'), ...at(0) }),
      makeReport({ ...named('repeated'), ...at(1) }),
      makeReport({ ...named('turned'), ...at(0) }),
      makeReport({ ...named('turned'), ...at(1), properties: turned }),
      makeReport({ ...named('more'), ...at(0) }),
      makeReport({ ...named('more'), ...at(1), quantity: '7' }),
      makeReport({ ...named('more'), ...at(2), quantity: '7' }),
      makeReport({ ...named('model'), ...at(0) }),
      makeReport({ ...named('model'), ...at(1), properties: properties.replace('large', 'small') }),
      makeReport({ ...named('corrected'), ...at(0) }),
      makeReport({ ...named('corrected'), ...at(1), properties: turned }),
      makeReport({ ...named('both'), ...at(0) }),
      makeReport({ ...named('both'), ...at(1), quantity: '8' }),
    ]
    const [, , , , more, , , model, , corrected, , both] = reports as [UsageEvent, ...UsageEvent[]]
    await stage.append(0, reports.slice(0, 7), acceptedAt)
    await stage.append(1, reports.slice(7), acceptedAt)
    await stage.load(0)
    await stage.load(1)
    const expectTold = async (lines: number, counted: number, again: number) => {
      const { output, code } = await stage.run('audit')
      expect(output).to.match(new RegExp(`^lines in the log +${lines}\n +counted +${counted}$`, 'm'))
      expect(output).to.match(new RegExp(`^ +reported again +${again}\n +reported otherwise +4$`, 'm'))
      expect(output).to.match(
        new RegExp(`^REPORTED OTHERWISE: ${more?.id} \\(.*\\): quantity is 5, this report has 7$`, 'm'),
      )
      expect(output).to.match(
        new RegExp(
          `^REPORTED OTHERWISE: ${model?.id} .*: properties is {"model":"large",.*has {"model":"small",`,
          'm',
        ),
      )
      expect(output).to.match(
        new RegExp(`^REPORTED OTHERWISE: ${both?.id} .*: quantity is 5, this report has 8$`, 'm'),
      )
      expect(output.match(/^REPORTED OTHERWISE/gm), 'each event once').to.have.length(3)
      expect(output).to.match(/^everything adds up, and 4 reports/m)
      expect(code, output).to.equal(0)
    }
    await expectTold(13, 6, 3)
    for (const event of [corrected, both] as UsageEvent[]) {
      const correction = makeCorrection(event, { quantity: '9' })
      await stage.keepCorrection(event, correction)
      await stage.append(0, [correction], Date.now() * 1_000)
    }
    await stage.load(0)
    // The first reports no longer count, but their contents are still known.
    await expectTold(15, 6, 5)
  })

  it('finds an event that is missing in the list of events', async () => {
    const acceptedAt = (Math.floor(Date.now() / 1_000) - 120) * 1e6
    const events = [makeReport({ acceptedAt }), makeReport({ acceptedAt })]
    await stage.append(0, events, acceptedAt)
    await stage.load(0)
    const [missing] = events
    await stage.change(`DELETE FROM usage_events_by_acceptance WHERE id = unhex('${missing?.id.slice(6)}')`)
    const { output } = await stage.run('audit')
    expect(output).to.match(new RegExp(`^UNLISTED: ${missing?.id} \\(partition 0, offset 0, line 0\\)`, 'm'))
    expect(output).to.contain('1 findings')
  })

  it('does not take what others have loaded for events of the future while one partition lags behind', async () => {
    const now = Date.now() * 1_000
    await stage.append(0, [makeReport({ acceptedAt: now - 900e6 })], now - 900e6)
    await stage.append(1, [makeReport({ acceptedAt: now - 1e6 })], now - 1e6)
    await stage.load(0)
    await stage.load(1)
    await stage.append(0, [makeReport({ acceptedAt: now - 600e6 })], now - 600e6)
    const { output } = await stage.run('audit')
    expect(output).to.match(/lines in the log +1$/m)
    expect(output).not.to.contain('FUTURE')
  })

  it('finds events that were accepted in the future', async () => {
    const ahead = Date.now() * 1_000 + 3_600e6
    const event = makeReport({ acceptedAt: ahead })
    await stage.append(0, [event], ahead)
    await stage.load(0)
    const { output, code } = await stage.run('audit')
    expect(output).to.match(new RegExp(`^ACCEPTED IN THE FUTURE: ${event.id}`, 'm'))
    expect(code).to.equal(1)
  })

  it('says how far behind the loader is, and fails when that is long', async () => {
    const now = Date.now() * 1_000
    const early = now - 7_200e6
    await stage.append(0, [makeReport({ acceptedAt: early })], early)
    await stage.load(0)
    expect((await stage.run('audit')).code).to.equal(0)
    await stage.append(1, [makeReport({ acceptedAt: now - 60e6 })], now - 60e6)
    const recent = await stage.run('audit')
    expect(recent.output).to.match(/^not loaded yet +1 record, the oldest accepted 20\S+Z, 1 min ago$/m)
    expect(recent.code, recent.output).to.equal(0)
    await stage.append(0, [makeReport({ acceptedAt: now - 3_600e6 })], now - 3_600e6)
    const stuck = await stage.run('audit')
    expect(stuck.output).to.match(/^not loaded yet +2 records, the oldest accepted 20\S+Z, 60 min ago$/m)
    expect(stuck.output).to.match(/^THE LOADER IS BEHIND: nothing accepted since 20\S+Z was audited$/m)
    expect(stuck.output).not.to.contain('everything adds up')
    expect(stuck.code).to.equal(1)
    expect((await stage.run('audit', '--lag-max-s', '7200')).code).to.equal(0)
    expect((await stage.run('audit', '--to', new Date((now - 7_000e6) / 1_000).toISOString())).code).to.equal(
      0,
    )
  })
})
