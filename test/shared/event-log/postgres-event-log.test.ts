import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { DomainError } from '../../../shared/errors/domain-error.ts'
import { checkpointRepository } from '../../../shared/event-log/checkpoints.ts'
import { RECORD_BYTES_MAX } from '../../../shared/event-log/event-log.ts'
import { withoutMembers } from '../../../shared/event-log/group-membership.ts'
import { tidy } from '../../../shared/event-log/postgres/housekeeping.ts'
import {
  openPostgresEventLog,
  type PostgresEventLogOptions,
} from '../../../shared/event-log/postgres/postgres-event-log.ts'
import { readClock } from '../../../shared/postgres/core/clock.ts'
import { MICROS_PER_MS } from '../../../shared/time/microsecond-clock.ts'
import { breakReads } from '../../support/break-reads.ts'
import { memoryInUse } from '../../support/collect-garbage.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { eventLogContract } from './contract.ts'

let database: TestDatabase | undefined

async function openDatabase(): Promise<TestDatabase> {
  database ??= await createDatabase('event_log')
  return database
}

const optionsFor = (db: TestDatabase, topic: string, partitions: number): PostgresEventLogOptions => ({
  pool: db.pool,
  topic,
  partitions,
  log: testLog,
  appendDeadlineMs: 10_000,
  appendsWaitingMax: 10_000,
  appendsWaitingBytesMax: 100_000_000,
  leaseMs: 1_000,
  segmentBytesMax: 1_000_000,
  segmentAgeMaxMs: 3_600_000,
  retentionMs: 0,
  housekeepingMs: 0,
  alone: false,
})

eventLogContract('PostgreSQL', async () => {
  const db = await openDatabase()
  return {
    async makeTopic(partitions) {
      const topic = `t-${randomBytes(4).toString('hex')}`
      await db.pool.query('SELECT event_log_ensure_topic($1, $2)', [topic, partitions])
      return topic
    },
    open: (topic) => openPostgresEventLog(optionsFor(db, topic, 1)),
    hasSentAgain: () => false,
    breakReads: (topic) => breakReads(db, topic),
  }
})

describe('event log on PostgreSQL', () => {
  let db: TestDatabase

  before(async () => {
    db = await openDatabase()
  })
  after(async () => {
    await db.close()
    database = undefined
  })

  it('reads across segments, and drops those that every group has passed and nothing else', async () => {
    const options = optionsFor(db, 'segments', 2)
    const log = await openPostgresEventLog(options)
    const consumer = await log.join('loader')
    const segments = async () => {
      const { rows } = await db.pool.query<{ n: string }>(
        "SELECT count(*) AS n FROM event_log_segments WHERE topic = 'segments'",
      )
      return Number(rows[0]?.n)
    }
    const append = (text: string) => log.append([{ partition: 0, acceptedAt: 1, value: Buffer.from(text) }])
    for (const text of ['a', 'b', 'c']) {
      await append(text)
      await tidy({ ...options, segmentAgeMaxMs: 0 }) // every tidy opens a new segment
    }
    expect(await segments()).to.equal(4)
    const read: string[] = []
    for (let i = 0; i < 4; i++)
      read.push(
        ...(await consumer.poll({ bytesMax: 1_000_000, waitMs: 100 })).map(({ value }) => value.toString()),
      )
    expect(read).to.deep.equal(['a', 'b', 'c'])
    await consumer.commit([{ partition: 0, offset: 2 }])
    await tidy({ ...options, segmentAgeMaxMs: 3_600_000 }) // marks the first two, and drops them: they are kept for 0 ms
    expect(await segments()).to.equal(2)
    expect((await log.read({ partition: 0, offset: 0 }, 1_000)).map(({ offset }) => offset)).to.deep.equal([
      2,
    ])
    await consumer.commit([{ partition: 0, offset: 3 }])
    await tidy({ ...options, segmentAgeMaxMs: 3_600_000 })
    expect(await segments()).to.equal(1)
    await append('d')
    expect(
      (await consumer.poll({ bytesMax: 1_000, waitMs: 1_000 })).map(({ offset }) => offset),
    ).to.deep.equal([3])
    await consumer.close()
    await log.close()
  })

  it('keeps a consumed segment that a group was set back into, until the group has read it again', async () => {
    const options = optionsFor(db, 'set back', 1)
    const log = await openPostgresEventLog(options)
    const consumer = await log.join('loader')
    const noDrop = { ...options, segmentAgeMaxMs: 0, retentionMs: 3_600_000 }
    await log.append([{ partition: 0, acceptedAt: 1, value: Buffer.from('a') }])
    await consumer.poll({ bytesMax: 1_000, waitMs: 100 })
    await consumer.commit([{ partition: 0, offset: 1 }])
    await tidy(noDrop)
    await consumer.close()
    await withoutMembers(db.pool, 'set back', 'loader', () =>
      log.moveTo('loader', [{ partition: 0, offset: 0 }]),
    )
    await tidy(options) // keeps consumed segments for 0 ms
    const again = await log.join('loader')
    expect((await again.poll({ bytesMax: 1_000, waitMs: 100 })).map(({ offset }) => offset)).to.deep.equal([
      0,
    ])
    await again.commit([{ partition: 0, offset: 1 }])
    await tidy(options)
    expect(await log.read({ partition: 0, offset: 0 }, 1_000)).to.deep.equal([])
    await again.close()
    await log.close()
  })

  it('sets nothing back while a member reads, and keeps members away meanwhile', async () => {
    const log = await openPostgresEventLog(optionsFor(db, 'held', 2))
    const consumer = await log.join('loader')
    const hold = (work: () => Promise<void>) => withoutMembers(db.pool, 'held', 'loader', work)
    let isHeld = false
    const refused = await hold(() => Promise.resolve()).catch((err: unknown) => String(err))
    expect(refused).to.contain('a loader still reads the event log')
    await consumer.close()
    await log.append([{ partition: 0, acceptedAt: 1, value: Buffer.from('a') }])
    await hold(async () => {
      isHeld = true
      const early = await log.join('loader')
      expect(await early.poll({ bytesMax: 1_000, waitMs: 300 })).to.deep.equal([])
      await early.close()
    })
    expect(isHeld).to.equal(true)
    const later = await log.join('loader')
    expect(await later.poll({ bytesMax: 1_000, waitMs: 300 })).to.have.length(1)
    await later.close()
    await log.close()
  })

  it('says so when a member began before all was set back, because that took too long', async () => {
    const log = await openPostgresEventLog(optionsFor(db, 'late', 1))
    await (await log.join('loader')).close()
    await log.append([{ partition: 0, acceptedAt: 1, value: Buffer.from('a') }])
    const took = withoutMembers(db.pool, 'late', 'loader', async () => {
      await db.pool.query(
        `UPDATE event_log_offsets SET leased_until = clock_timestamp() WHERE topic = 'late'`,
      )
      const member = await log.join('loader')
      expect(await member.poll({ bytesMax: 1_000, waitMs: 5_000 })).to.have.length(1)
      await member.close()
    })
    expect(await took.catch((err: unknown) => String(err))).to.contain('a loader still reads the event log')
    await log.close()
  })

  it('knows how far it was loaded at a time, as far back as the log is kept', async () => {
    const options = { ...optionsFor(db, 'noted', 1), retentionMs: 3_600_000 }
    const log = await openPostgresEventLog(options)
    const consumer = await log.join('loader')
    const checkpoints = checkpointRepository(db.pool, 'noted')
    const offsetsBefore = async (at: number) => (await checkpoints.findBefore(at)).map(({ offset }) => offset)
    const now = async () => (await readClock(db.pool)).getTime() * MICROS_PER_MS
    const before = await now()
    await sleep(5)
    for (const n of [0, 1, 2]) {
      await log.append([{ partition: 0, acceptedAt: 1, value: Buffer.from('a') }])
      await consumer.commit([{ partition: 0, offset: n + 1 }])
      await tidy(options) // only the first makes a checkpoint: it is younger than the next ones may be
    }
    expect(await offsetsBefore(before)).to.deep.equal([])
    expect(await offsetsBefore(Infinity)).to.deep.equal([1])
    await checkpoints.note([{ partition: 0, offset: 3 }], 0)
    await checkpoints.forget(0) // the newest says what the kept log begins with
    expect(await offsetsBefore(Infinity)).to.deep.equal([3])
    await consumer.close()
    await log.close()
  })

  it('reads the records of partitions that were added while another process opened a segment', async () => {
    const log = await openPostgresEventLog(optionsFor(db, 'grown', 1))
    const rotation = await db.pool.connect()
    await rotation.query('BEGIN')
    await rotation.query("SELECT event_log_open_segment('grown')")
    const growth = db.pool.query("SELECT event_log_ensure_topic('grown', 2)")
    await sleep(200) // it waits, or has read rows that are about to change
    await rotation.query('COMMIT')
    rotation.release()
    await growth
    await log.append([0, 1].map((partition) => ({ partition, acceptedAt: 1, value: Buffer.from('x') })))
    const read = await Promise.all([0, 1].map((partition) => log.read({ partition, offset: 0 }, 1_000)))
    expect(read.map((records) => records.length)).to.deep.equal([1, 1])
    await log.close()
  })

  it('loses nothing while it grows, opens segments and takes records at once', async () => {
    const options = optionsFor(db, 'growing', 1)
    const log = await openPostgresEventLog(options)
    let partitions = 1
    let sent = 0
    let growing = true
    const isGrowing = () => growing
    const rotate = async () => {
      while (isGrowing()) await tidy({ ...options, segmentAgeMaxMs: 0, retentionMs: 3_600_000 })
    }
    const append = async () => {
      while (isGrowing()) {
        const all = Array.from({ length: partitions }, (_, partition) => partition)
        await log.append(all.map((partition) => ({ partition, acceptedAt: 1, value: Buffer.from('x') })))
        sent += all.length
      }
    }
    const working = [rotate(), append(), append()]
    for (let n = 2; n <= 30; n++) {
      await db.pool.query("SELECT event_log_ensure_topic('growing', $1)", [n])
      partitions = n
    }
    growing = false
    await Promise.all(working)
    const consumer = await log.join('loader')
    let read = 0
    await until(async () => {
      read += (await consumer.poll({ bytesMax: 1_000_000, waitMs: 50 })).length
      return read >= sent
    })
    expect(read).to.equal(sent)
    await consumer.close()
    await log.close()
  })

  it('takes nothing with a poll that could read only some of the partitions', async () => {
    const options = optionsFor(db, 'half', 2)
    const log = await openPostgresEventLog(options)
    const consumer = await log.join('loader')
    await log.append([{ partition: 0, acceptedAt: 1, value: Buffer.from('a') }])
    await tidy({ ...options, segmentAgeMaxMs: 0 })
    const mend = await breakReads(db, 'half')
    await log.append([{ partition: 1, acceptedAt: 1, value: Buffer.from('x') }])
    let refusal: unknown
    await consumer.poll({ bytesMax: 1_000, waitMs: 0 }).catch((err: unknown) => (refusal = err))
    expect(String(refusal)).to.contain('permission denied')
    await mend()
    const read = await consumer.poll({ bytesMax: 1_000, waitMs: 0 })
    expect(read.map(({ value }) => value.toString()).sort()).to.deep.equal(['a', 'x'])
    await consumer.close()
    await log.close()
  })

  it('refuses to drop a segment that is not consumed', async () => {
    await db.pool.query("SELECT event_log_ensure_topic('kept', 1)")
    const { rows } = await db.pool.query<{ id: string }>(
      "SELECT segment_id AS id FROM event_log_segments WHERE topic = 'kept'",
    )
    let refusal: unknown
    await db.pool
      .query('SELECT event_log_drop_segment($1)', [rows[0]?.id])
      .catch((err: unknown) => (refusal = err))
    expect(String(refusal)).to.contain('is not consumed')
  })

  it('gives the partitions of a member that went silent to the others once its lease has ended', async () => {
    const options = optionsFor(db, 'silent', 2)
    const log = await openPostgresEventLog(options)
    await db.pool.query(
      `INSERT INTO event_log_members VALUES ('loader', 'silent', gen_random_uuid(), clock_timestamp() + interval '1 s')`,
    )
    const consumer = await log.join('loader')
    await log.append([0, 1].map((partition) => ({ partition, acceptedAt: 1, value: Buffer.from('x') })))
    const seen = new Set<number>()
    const deadline = performance.now() + 5_000
    while (seen.size < 2 && performance.now() < deadline)
      for (const { partition } of await consumer.poll({ bytesMax: 1_000, waitMs: 100 })) seen.add(partition)
    expect(seen).to.deep.equal(new Set([0, 1]))
    await consumer.close()
    await log.close()
  })

  describe('when appends come faster than the database takes them', () => {
    /** Makes this many concurrent appends while the database does not answer. @returns their outcomes */
    const burst = async (options: PostgresEventLogOptions, appends: number, makeValue: () => Buffer) => {
      const log = await openPostgresEventLog(options)
      const blocker = await db.pool.connect()
      await blocker.query('BEGIN')
      await blocker.query('SELECT 1 FROM event_log_partitions WHERE topic = $1 FOR UPDATE', [options.topic])
      const before = memoryInUse().arrayBuffers
      const ends = Array.from({ length: appends }, () =>
        log.append([{ partition: 0, acceptedAt: 1, value: makeValue() }]).then(
          () => 'durable',
          (err: unknown) => (err as DomainError).code,
        ),
      )
      await sleep(500)
      // Twice, because memory that is released during a measurement is gone only in the next one.
      const held = [memoryInUse().arrayBuffers, await sleep(200, 0).then(() => memoryInUse().arrayBuffers)]
      const bytesHeld = Math.min(...held) - before
      await blocker.query('ROLLBACK')
      blocker.release()
      const codes = await Promise.all(ends)
      // The queue has free places again.
      await log.append([{ partition: 0, acceptedAt: 1, value: makeValue() }])
      const { rows } = await db.pool.query<{ end: string }>(
        'SELECT next_offset AS end FROM event_log_partitions WHERE topic = $1',
        [options.topic],
      )
      await log.close()
      const count = (code: string) => codes.filter((one) => one === code).length
      return {
        durable: count('durable'),
        overloaded: count('overloaded'),
        stored: Number(rows[0]?.end),
        bytesHeld,
      }
    }

    it('takes as many as may wait and not one more, and tells the others that nothing was done', async () => {
      const options = { ...optionsFor(db, 'many', 1), appendsWaitingMax: 10 }
      const { durable, overloaded, stored } = await burst(options, 40, () => Buffer.alloc(100_000, 'a'))
      expect([durable, overloaded, stored]).to.deep.equal([10, 30, 11])
    })

    it('takes as many bytes as may wait and no more than one report beyond', async () => {
      const options = { ...optionsFor(db, 'large', 1), appendsWaitingBytesMax: 950_000 }
      const { durable, overloaded, stored } = await burst(options, 40, () => randomBytes(100_000))
      expect([durable, overloaded, stored]).to.deep.equal([10, 30, 11])
    })

    it('holds what waits as it will be stored, and not as it came', async () => {
      const { durable, bytesHeld } = await burst(optionsFor(db, 'held', 1), 50, () =>
        Buffer.alloc(RECORD_BYTES_MAX, 'a'),
      )
      expect(durable).to.equal(50)
      expect(bytesHeld).to.be.lessThan(5 * RECORD_BYTES_MAX)
    })

    it('gives the place of a report that waited too long to another', async () => {
      const options = { ...optionsFor(db, 'late', 1), appendsWaitingMax: 10, appendDeadlineMs: 200 }
      const { durable, overloaded, stored } = await burst(options, 40, () => Buffer.alloc(100_000, 'a'))
      expect(durable).to.equal(0)
      expect(overloaded).to.be.within(30, 39) // the others were on their way
      expect(stored).to.be.within(2, 11)
    })
  })

  it('answers unavailable when the database does not confirm in time', async () => {
    const log = await openPostgresEventLog({ ...optionsFor(db, 'stuck', 1), appendDeadlineMs: 200 })
    const blocker = await db.pool.connect()
    await blocker.query('BEGIN')
    await blocker.query("SELECT 1 FROM event_log_partitions WHERE topic = 'stuck' FOR UPDATE")
    const startedAt = performance.now()
    let refusal: unknown
    await log
      .append([{ partition: 0, acceptedAt: 1, value: Buffer.from('x') }])
      .catch((err: unknown) => (refusal = err))
    expect(refusal).to.have.property('code', 'unavailable')
    expect(performance.now() - startedAt).to.be.lessThan(1_500)
    await blocker.query('ROLLBACK')
    blocker.release()
    await log.close()
  })
})
