import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClickHouseError } from '@clickhouse/client'
import { expect } from 'chai'
import { loadUsage } from '../../../services/loader/load-usage.ts'
import { loaderMetrics } from '../../../services/loader/loader-metrics.ts'
import type { Block } from '../../../services/loader/read-record.ts'
import { queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { reportVersion, usageEventId } from '../../../shared/domain/usage-event.ts'
import { type EventLog, LOADER_GROUP, RECORD_BYTES_MAX } from '../../../shared/event-log/event-log.ts'
import { openPostgresEventLog } from '../../../shared/event-log/postgres/postgres-event-log.ts'
import type { Trouble } from '../../../shared/lifecycle/activity.ts'
import { createLogger } from '../../../shared/logging/logger.ts'
import { openMetrics } from '../../../shared/metrics/metrics.ts'
import { type DeadLetterHead, deadLetterRepository } from '../../../shared/postgres/dead-letters.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { breakReads } from '../../support/break-reads.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { memoryInUse } from '../../support/collect-garbage.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const NAMESPACE = '0f8fad5b-d9cb-469f-a165-70867728950e'
const ACCOUNT = 'account_0f8fad5bd9cb469fa16570867728950e'

function lineOf(n: number, properties = '{}'): string {
  const id = usageEventId(NAMESPACE, ACCOUNT, 'usd', 1_700_000_000, { kind: 'event', key: String(n) })
  return usageEventToLine({
    namespaceId: NAMESPACE,
    id,
    accountId: ACCOUNT,
    source: 'usd',
    quantity: String(n),
    occurredAt: 1_700_000_000,
    acceptedAt: 1_700_000_000_000_000,
    properties,
    propertyPairs: [],
    correctedAt: null,
    voided: false,
    version: reportVersion(1_700_000_000_000_000, String(n)),
  })
}

function countLines(lines: Buffer): number {
  let count = 0
  for (const byte of lines) if (byte === 0x0a) count++
  return count
}

describe('loading usage', function () {
  this.timeout(60_000)
  let db: TestDatabase
  let topics = 0

  before(async () => {
    db = await createDatabase('load_usage')
  })
  after(() => db.close())

  const openLog = (topic = `t${topics++}`): Promise<EventLog> =>
    openPostgresEventLog({
      pool: db.pool,
      topic,
      partitions: 3,
      log: testLog,
      appendDeadlineMs: 5_000,
      appendsWaitingMax: 100,
      appendsWaitingBytesMax: 100_000_000,
      leaseMs: 1_000,
      segmentBytesMax: 1e9,
      segmentAgeMaxMs: 1e9,
      retentionMs: 1e9,
      housekeepingMs: 0,
      alone: false,
    })
  const options = { batchRowsMax: 7, batchBytesMax: 1_000_000, flushMs: 20 }
  const record = (partition: number, lines: readonly string[]) => ({
    partition,
    acceptedAt: 1_700_000_000_000_000,
    value: Buffer.from(lines.join('\n')),
  })

  it('stores each partition in order, and commits an offset only after its rows and its dead letters', async () => {
    const log = await openLog()
    const stored = new Set<string>()
    const deadLettered = new Set<string>()
    const consumer = await log.join(LOADER_GROUP)
    const early: string[] = []
    const commit = consumer.commit.bind(consumer)
    consumer.commit = async (positions) => {
      for (const { partition, offset } of positions)
        for (const before of await log.read({ partition, offset: 0 }, 1e9))
          if (before.offset < offset)
            for (const line of before.value.toString().split('\n'))
              if (!stored.has(line) && !deadLettered.has(line)) early.push(line)
      await commit(positions)
    }
    const loader = loadUsage(
      {
        metrics: loaderMetrics(openMetrics()),
        consumer,
        storeLines: async (block) => {
          await sleep(10)
          if (Math.random() < 0.3) throw new Error('trouble that passes')
          for (const line of block.toString().split('\n')) if (line !== '') stored.add(line)
        },
        deadLetter: async ({ bytes }: Block) => {
          await sleep(5)
          if (Math.random() < 0.3) throw new Error('trouble that passes')
          deadLettered.add(bytes.toString())
        },
        log: testLog,
      },
      options,
    )
    const lines = Array.from({ length: 60 }, (_, n) => (n % 10 === 3 ? `poison ${n}` : lineOf(n)))
    const ofPartition: string[][] = [[], [], []]
    for (let n = 0; n < lines.length; n += 4) {
      await log.append([record(n % 3, lines.slice(n, n + 4))])
      ofPartition[n % 3]?.push(...lines.slice(n, n + 4))
    }
    await until(async () => (await log.lag(LOADER_GROUP)).every(({ committed, end }) => committed === end))
    await loader.close()
    await log.close()
    expect(early).to.deep.equal([])
    expect([...stored, ...deadLettered].sort()).to.deep.equal([...lines].sort())
    expect([...deadLettered].every((line) => line.startsWith('poison'))).to.equal(true)
    for (const own of ofPartition)
      expect([...stored].filter((line) => own.includes(line))).to.deep.equal(
        own.filter((line) => !line.startsWith('poison')),
      )
  })

  it('stores nothing while there is no room for it, is in no trouble then, and goes on once there is', async () => {
    const log = await openLog()
    const stored: string[] = []
    let asked = 0
    let hasRoom = false
    const loader = loadUsage(
      {
        metrics: loaderMetrics(openMetrics()),
        consumer: await log.join(LOADER_GROUP),
        storeLines: (block) => {
          stored.push(block.toString())
          return Promise.resolve()
        },
        deadLetter: () => Promise.resolve(),
        hasRoom: () => {
          asked++
          return hasRoom
        },
        log: testLog,
      },
      options,
    )
    await log.append([record(0, [lineOf(1)])])
    await until(() => Promise.resolve(asked > 2))
    expect(stored).to.deep.equal([])
    expect(loader.listTroubles(0)).to.deep.equal([])
    hasRoom = true
    await until(() => Promise.resolve(stored.length > 0))
    expect(stored.join('')).to.equal(`${lineOf(1)}\n`)
    await loader.close()
    await log.close()
  })

  it('commits nothing behind a batch that it gave up when it was told to stop', async () => {
    const log = await openLog()
    const open = async (storeLines: (lines: Buffer) => Promise<void>) =>
      loadUsage(
        {
          metrics: loaderMetrics(openMetrics()),
          consumer: await log.join(LOADER_GROUP),
          storeLines,
          deadLetter: () => Promise.reject(new Error('nothing is to be a dead letter')),
          log: testLog,
        },
        { ...options, batchRowsMax: 2 },
      )
    for (const n of [0, 2, 4]) await log.append([record(0, [lineOf(n), lineOf(n + 1)])])
    let attempts = 0
    const stuck = await open((lines) => {
      attempts++
      return lines.toString().includes(lineOf(0))
        ? Promise.reject(new Error('trouble that stays'))
        : Promise.resolve()
    })
    await until(() => Promise.resolve(attempts > 1))
    await stuck.close()
    expect((await log.lag(LOADER_GROUP)).map(({ committed }) => committed)).to.deep.equal([0, 0, 0])
    const stored: string[] = []
    const next = await open((lines) => {
      stored.push(...lines.toString().trimEnd().split('\n'))
      return Promise.resolve()
    })
    await until(async () => (await log.lag(LOADER_GROUP)).every(({ committed, end }) => committed === end))
    await next.close()
    await log.close()
    expect(stored).to.deep.equal([0, 1, 2, 3, 4, 5].map((n) => lineOf(n)))
  })

  it('stores what it had gathered when reading the log fails, and goes on after it', async () => {
    const log = await openLog('failing')
    const consumer = await log.join(LOADER_GROUP)
    const poll = consumer.poll.bind(consumer)
    let gathered = 0
    let failed = 0
    consumer.poll = async (limits) => {
      try {
        const records = await poll(limits)
        gathered += records.length
        return records
      } catch (err) {
        failed++
        throw err
      }
    }
    const stored: string[] = []
    const loader = loadUsage(
      {
        metrics: loaderMetrics(openMetrics()),
        consumer,
        storeLines: (block) => {
          stored.push(...block.toString().split('\n').slice(0, -1))
          return Promise.resolve()
        },
        deadLetter: () => Promise.reject(new Error('nothing is to be a dead letter')),
        log: testLog,
      },
      { ...options, flushMs: 60_000 },
    )
    await log.append([record(0, [lineOf(1)]), record(1, [lineOf(2)])])
    await until(() => Promise.resolve(gathered === 2))
    const mend = await breakReads(db, 'failing')
    await log.append([record(0, [lineOf(3)])])
    await until(() => Promise.resolve(failed >= 2))
    await mend()
    await log.append([
      record(
        1,
        [4, 5, 6, 7, 8, 9, 10].map((n) => lineOf(n)),
      ),
    ]) // a full batch
    await until(async () => (await log.lag(LOADER_GROUP)).every(({ committed, end }) => committed === end))
    await loader.close()
    await log.close()
    expect([...stored].sort()).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => lineOf(n)).sort())
  })

  it('reads no further than a batch ahead while ClickHouse is away, and goes on by itself', async () => {
    const log = await openLog()
    let isAway = true
    let read = 0
    const consumer = await log.join(LOADER_GROUP)
    const poll = consumer.poll.bind(consumer)
    consumer.poll = async (limits) => {
      const records = await poll(limits)
      read += records.length
      return records
    }
    const stored: string[] = []
    const loader = loadUsage(
      {
        metrics: loaderMetrics(openMetrics()),
        consumer,
        storeLines: (block) => {
          const lines = block.toString().split('\n').slice(0, -1)
          if (isAway) return Promise.reject(new Error('connect ECONNREFUSED'))
          stored.push(...lines)
          return Promise.resolve()
        },
        deadLetter: () => Promise.reject(new Error('nothing is to be a dead letter')),
        log: testLog,
      },
      { ...options, batchBytesMax: 2_000 }, // five lines
    )
    for (let n = 0; n < 100; n++) await log.append([record(n % 3, [lineOf(n)])])
    await sleep(300)
    expect(stored).to.have.length(0)
    expect(read).to.be.within(1, 2 * 7) // one batch that waits, one that is gathered
    isAway = false
    await until(() => Promise.resolve(stored.length === 100))
    expect(new Set(stored).size).to.equal(100)
    await loader.close()
    await log.close()
  })

  it('works through a backlog in batches of bounded size, and lets the process breathe', async () => {
    const clickhouse = await createClickHouse('backlog')
    const usage = usageEventRepository(clickhouse.client)
    const log = await openLog()
    const events = 80_000
    const properties = JSON.stringify({ padding: 'x'.repeat(800) }) // a hundred megabytes, ten when compressed
    for (let n = 0; n < events; n += 1_000) {
      const lines = (from: number) => Array.from({ length: 250 }, (_, i) => lineOf(n + from + i, properties))
      await log.append([0, 250, 500, 750].map((from) => record((n + from) % 3, lines(from))))
    }
    const limits = { batchRowsMax: 10_000, batchBytesMax: 12_000_000, flushMs: 250 }
    const rows: number[] = []
    const bytes: number[] = []
    const memory: number[] = []
    const before = memoryInUse().arrayBuffers
    const delay = monitorEventLoopDelay({ resolution: 10 })
    delay.enable()
    const startedAt = performance.now()
    const loader = loadUsage(
      {
        metrics: loaderMetrics(openMetrics()),
        consumer: await log.join(LOADER_GROUP),
        storeLines: (lines) => {
          rows.push(countLines(lines))
          bytes.push(lines.length)
          memory.push(memoryInUse().arrayBuffers - before)
          return usage.insertLines(lines)
        },
        deadLetter: () => Promise.reject(new Error('nothing is to be a dead letter')),
        log: testLog,
      },
      limits,
    )
    await until(async () => (await log.lag(LOADER_GROUP)).every(({ committed, end }) => committed === end))
    delay.disable()
    const tookMs = performance.now() - startedAt
    await loader.close()
    await log.close()
    const counted = await queryRows<{ n: string }>(
      clickhouse.client,
      'SELECT count() AS n FROM usage_events FINAL',
      {},
    )
    await clickhouse.close()
    expect(Number(counted[0]?.n)).to.equal(events)
    expect(Math.max(...rows)).to.be.at.most(limits.batchRowsMax + 250)
    expect(Math.max(...bytes)).to.be.at.most(limits.batchBytesMax + RECORD_BYTES_MAX)
    // The stored batch and its joined copy, the batch that is gathered, and the read-ahead records, twice because of
    // decoding.
    expect(Math.max(...memory)).to.be.lessThan(6 * limits.batchBytesMax)
    // A share of the whole time, which also holds on a busy machine.
    expect(delay.max / 1e6, 'milliseconds').to.be.lessThan(tookMs / 5)
  })

  it('buries what cannot be counted with the reason, and logs nothing of what it says', async () => {
    const clickhouse = await createClickHouse('secrets')
    const usage = usageEventRepository(clickhouse.client)
    const deadLetters = deadLetterRepository(db.pool)
    const logged: string[] = []
    const log = await openLog('secrets')
    const secret = JSON.stringify({ patient: 'Jane Doe' })
    const refused = lineOf(1, secret).replace('"occurred_at":1700000000', '"occurred_at":1.7e9') // ClickHouse reads no exponents
    const unreadable = lineOf(2, secret).replace('"quantity":"2"', '"quantity":"Jane Doe"')
    await log.append([record(0, [refused, lineOf(3, secret), unreadable])])
    const broken = { insert: 1, deadLetter: 1 }
    const loader = loadUsage(
      {
        metrics: loaderMetrics(openMetrics()),
        consumer: await log.join(LOADER_GROUP),
        storeLines: (lines) => {
          if (broken.insert-- > 0)
            return Promise.reject(
              new ClickHouseError({ message: `Jane Doe: ${refused}`, code: '999', type: 'KEEPER_EXCEPTION' }),
            )
          return usage.insertLines(lines)
        },
        deadLetter: async ({ partition, offset, line, bytes }, reason) => {
          const place = { topic: 'secrets', partition, offset, line }
          // A row that PostgreSQL refuses; its error contains the row as detail.
          if (broken.deadLetter-- > 0)
            await deadLetters.insert({ ...place, reason: null as never, value: bytes })
          await deadLetters.insert({ ...place, reason, value: bytes })
        },
        log: createLogger('trace', { write: (line) => logged.push(line) }),
      },
      options,
    )
    await until(async () => (await log.lag(LOADER_GROUP)).every(({ committed, end }) => committed === end))
    await loader.close()
    await log.close()
    await clickhouse.close()
    const letters: DeadLetterHead[] = []
    for await (const page of deadLetters.pages(10))
      letters.push(...page.filter(({ topic }) => topic === 'secrets'))
    expect(letters.map(({ line }) => line)).to.deep.equal([0, 2])
    expect(letters[0]?.reason).to.match(/^ClickHouse: Cannot parse input.*Jane Doe/)
    expect(letters[1]?.reason).to.contain('quantity: "Jane Doe"')
    const text = logged.join('')
    expect(text).to.not.match(/Jane|4a616e6520446f65/)
    expect(text).to.match(/"code":"27","type":"CANNOT_PARSE_INPUT_ASSERTION_FAILED"/)
    expect(text).to.match(/"code":"999","type":"KEEPER_EXCEPTION"/)
    for (const line of [0, 2]) expect(text).to.contain(`"partition":0,"offset":0,"line":${line}`)
  })

  it('says what it fails at for how long, and no more once it gets on', async () => {
    const log = await openLog('troubles')
    let insert: () => Promise<void> = () => Promise.resolve()
    const loader = loadUsage(
      {
        metrics: loaderMetrics(openMetrics()),
        consumer: await log.join(LOADER_GROUP),
        storeLines: () => insert(),
        deadLetter: () => Promise.resolve(),
        log: testLog,
      },
      options,
    )
    const forMs = 500
    const troubleOf = (activity: string) =>
      until<Trouble>(() =>
        Promise.resolve(loader.listTroubles(forMs).find((one) => one.activity === activity) ?? false),
      )
    const noTrouble = () => until(() => Promise.resolve(loader.listTroubles(forMs).length === 0))
    const isDone = async () => (await log.lag(LOADER_GROUP)).every(({ committed, end }) => committed === end)

    await log.append([record(0, [lineOf(1)])])
    await until(isDone)
    expect(loader.listTroubles(forMs)).to.deep.equal([])

    insert = () => Promise.reject(new Error('ClickHouse is away'))
    await log.append([record(0, [lineOf(2)])])
    const away = await troubleOf('storing usage')
    expect(away.err).to.have.property('message', 'ClickHouse is away')
    expect(away.failingMs).to.be.at.least(forMs)
    expect(away.succeededMsAgo).to.be.at.least(away.failingMs)
    insert = () => Promise.resolve()
    await until(isDone)
    await noTrouble()

    let goOn: () => void = () => undefined
    insert = () => new Promise((resolve) => (goOn = resolve))
    await log.append([record(0, [lineOf(3)])])
    expect((await troubleOf('storing usage')).err).to.equal(undefined) // it hangs
    goOn()
    await until(isDone)

    const mend = await breakReads(db, 'troubles')
    await log.append([record(0, [lineOf(4)])])
    insert = () => Promise.resolve()
    expect((await troubleOf('reading the event log')).err)
      .to.have.property('message')
      .contains('denied')
    await mend()
    await until(isDone)
    await noTrouble()
    await loader.close()
    await log.close()
  })

  it('ends in time when it is closed while ClickHouse is away, and leaves everything to the next one', async () => {
    const log = await openLog()
    const gone = loadUsage(
      {
        metrics: loaderMetrics(openMetrics()),
        consumer: await log.join(LOADER_GROUP),
        storeLines: () => Promise.reject(new Error('gone')),
        deadLetter: () => Promise.resolve(),
        log: testLog,
      },
      options,
    )
    await log.append([record(0, [lineOf(1), lineOf(2)])])
    await sleep(200)
    const closingAt = performance.now()
    await gone.close()
    expect(performance.now() - closingAt).to.be.lessThan(3_000)
    const stored: string[] = []
    const next = loadUsage(
      {
        metrics: loaderMetrics(openMetrics()),
        consumer: await log.join(LOADER_GROUP),
        storeLines: (block) => {
          stored.push(...block.toString().split('\n').slice(0, -1))
          return Promise.resolve()
        },
        deadLetter: () => Promise.resolve(),
        log: testLog,
      },
      options,
    )
    await until(() => Promise.resolve(stored.length >= 2))
    expect(stored).to.deep.equal([lineOf(1), lineOf(2)])
    await next.close()
    await log.close()
  })
})
