import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { CompressionTypes, Kafka, logLevel, Partitioners } from 'kafkajs'
import type { DomainError } from '../../../shared/errors/domain-error.ts'
import type { EventLog, LogConsumer, LogRecord } from '../../../shared/event-log/event-log.ts'
import { KafkaConsumer } from '../../../shared/event-log/kafka/consumer.ts'
import { openDeadLetterTopic } from '../../../shared/event-log/kafka/dead-letter-topic.ts'
import { GroupOffsets } from '../../../shared/event-log/kafka/group-offsets.ts'
import { KafkaConnection } from '../../../shared/event-log/kafka/kafka-connection.ts'
import {
  type KafkaEventLogOptions,
  openKafkaEventLog,
} from '../../../shared/event-log/kafka/kafka-event-log.ts'
import { PartitionReader } from '../../../shared/event-log/kafka/partition-reader.ts'
import { ensureTopics } from '../../../shared/event-log/kafka/topics.ts'
import type { Logger } from '../../../shared/logging/logger.ts'
import { type KafkaBroker, startKafka } from '../../support/kafka.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { eventLogContract } from './contract.ts'

describe('event log on Kafka', function () {
  this.timeout(120_000)
  let kafka: KafkaBroker
  let db: TestDatabase
  const broken = new Set<string>()
  /** Topics whose appends were sent again. */
  const sentAgain = new Set<string>()

  before(async function () {
    kafka = await startKafka(this)
    db = await createDatabase('kafka_event_log')
  })
  after(async () => {
    await (kafka as KafkaBroker | undefined)?.stop()
    await (db as TestDatabase | undefined)?.close()
  })

  const accessOf = () => ({ brokers: kafka.brokers.split(','), ssl: false, sasl: undefined })
  const optionsFor = (topic: string): KafkaEventLogOptions => ({
    access: { ...accessOf(), connect: (at) => breakable(connect(at), () => broken.has(topic)) },
    topic,
    log: testLog,
    pool: db.pool,
    appendDeadlineMs: 10_000,
    appendsWaitingMax: 10_000,
    appendsWaitingBytesMax: 100_000_000,
    requestTimeoutMs: 3_000,
    leaseMs: 1_000,
    settleMs: 20_000,
    groupPrefix: '',
    owner: 'this Tally',
    claims: false,
    alone: false,
    groups: ['loader'],
    retentionMs: 86_400_000,
    housekeepingMs: 0,
  })

  const notingResends = (topic: string): Logger =>
    Object.assign(Object.create(testLog) as Logger, {
      warn(_: unknown, text: string) {
        if (text === 'Kafka did not take records') sentAgain.add(topic)
      },
    })

  const newTopic = async (partitions = 2): Promise<string> => {
    const topic = `t-${randomBytes(4).toString('hex')}`
    await ensureTopics(accessOf(), [{ topic, partitions, replication: 1, minInSyncReplicas: 1 }])
    return topic
  }
  /** Opens a log for one test. */
  const withLog = async (
    options: KafkaEventLogOptions,
    work: (log: EventLog, join: () => Promise<LogConsumer>) => Promise<void>,
  ): Promise<void> => {
    const log = await openKafkaEventLog(options)
    const joined: LogConsumer[] = []
    try {
      await work(log, async () => {
        const consumer = await log.join('loader')
        joined.push(consumer)
        return consumer
      })
    } finally {
      for (const consumer of joined) await consumer.close()
      await log.close()
    }
  }
  const record = (partition: number, text: string) => ({ partition, acceptedAt: 1, value: Buffer.from(text) })
  const client = () =>
    new Kafka({ brokers: kafka.brokers.split(','), logLevel: logLevel.NOTHING, clientId: 'another program' })

  eventLogContract('Kafka', () =>
    Promise.resolve({
      makeTopic: newTopic,
      open: (topic) => openKafkaEventLog({ ...optionsFor(topic), log: notingResends(topic) }),
      hasSentAgain: (topic) => sentAgain.has(topic),
      breakReads(topic) {
        broken.add(topic)
        return Promise.resolve(() => {
          broken.delete(topic)
          return Promise.resolve()
        })
      },
    }),
  )

  it('makes topics once, adds partitions to those that have too few, and takes none away', async () => {
    const topic = await newTopic(2)
    const plan = { topic, replication: 1, minInSyncReplicas: 1 }
    for (const partitions of [2, 5, 3]) await ensureTopics(accessOf(), [{ ...plan, partitions }])
    await withLog(optionsFor(topic), (log) => {
      expect(log.partitions).to.equal(5)
      return Promise.resolve()
    })
  })

  it('says what to set when Kafka has fewer brokers than there are to be replicas', async () => {
    const plan = { topic: 'too-many', partitions: 1, replication: 3, minInSyncReplicas: 2 }
    const refusal = await ensureTopics(accessOf(), [plan]).catch(String)
    expect(refusal).to.match(/fewer than the 3 brokers of KAFKA_REPLICATION.*set KAFKA_REPLICATION=1/)
  })

  it('says in one line that Kafka is away, or has not the topic', async () => {
    const refusal = async (options: KafkaEventLogOptions): Promise<Error> =>
      openKafkaEventLog(options).then(
        () => new Error('it opened'),
        (err: unknown) => err as Error,
      )
    const missing = await refusal(optionsFor('no-such-topic'))
    expect(missing.name).to.equal('StartupError')
    expect(missing.message).to.equal('Kafka has no topic no-such-topic: run npm run migrate')
    const away = await refusal({ ...optionsFor('t'), access: { ...accessOf(), brokers: ['127.0.0.1:1'] } })
    expect(away.name).to.equal('StartupError')
    expect(away.message).to.match(/^Kafka cannot be reached \(KAFKA_BROKERS\): .*ECONNREFUSED/)
  })

  it('reads what other programs write, packed and with keys or not, and takes their time of appending', async () => {
    const topic = await newTopic(1)
    const producer = client().producer({ createPartitioner: Partitioners.DefaultPartitioner })
    await producer.connect()
    const messages = [
      { key: 'k', value: 'packed' },
      { value: null },
      { value: 'odd', headers: { 'accepted-at': 'yesterday' } },
    ]
    const before = Date.now() * 1_000
    await producer.send({ topic, acks: -1, compression: CompressionTypes.GZIP, messages })
    await producer.disconnect()
    await withLog(optionsFor(topic), async (log) => {
      const read = await log.read({ partition: 0, offset: 0 }, 1_000_000)
      expect(read.map(({ value }) => value.toString())).to.deep.equal(['packed', '', 'odd'])
      for (const { acceptedAt } of read)
        expect(acceptedAt).to.be.within(before - 1_000, Date.now() * 1_000 + 1_000)
      expect(
        (await log.read({ partition: 0, offset: 1 }, 1_000_000)).map(({ offset }) => offset),
      ).to.deep.equal([1, 2])
    })
  })

  it('keeps the group’s offsets where Kafka’s own tools look for them', async () => {
    const topic = await newTopic(1)
    await withLog(optionsFor(topic), async (log, join) => {
      await log.append([record(0, 'a'), record(0, 'b')])
      const consumer = await join()
      await drain(consumer, 2)
      await consumer.commit([{ partition: 0, offset: 2 }])
    })
    const admin = client().admin()
    await admin.connect()
    const [offsets] = await admin.fetchOffsets({ groupId: 'loader', topics: [topic] })
    await admin.disconnect()
    expect(offsets?.partitions).to.deep.include({ partition: 0, offset: '2', metadata: 'this Tally' })
  })

  it('deletes what was loaded and kept long enough, and never what was not loaded', async () => {
    const topic = await newTopic(2)
    const options = { ...optionsFor(topic), retentionMs: 300, housekeepingMs: 50 }
    await withLog(options, async (log, join) => {
      expect(await log.keptSince()).to.equal(0)
      await log.append([record(0, 'a'), record(0, 'b'), record(1, 'x')])
      await sleep(1_000) // older than the retention, but not loaded
      expect(await textsFrom(log, 0, 0)).to.deep.equal(['a', 'b'])
      const consumer = await join()
      await drain(consumer, 3)
      const committedAt = performance.now()
      await consumer.commit([{ partition: 0, offset: 1 }])
      await until(async () => (await textsFrom(log, 0, 0)).length === 1)
      expect(performance.now() - committedAt).to.be.greaterThan(280)
      expect(await textsFrom(log, 0, 0)).to.deep.equal(['b'])
      expect(await textsFrom(log, 1, 0)).to.deep.equal(['x'])
      expect(await log.keptSince()).to.be.greaterThan(1_700_000_000_000_000)
    })
  })

  it('goes on where the log begins when its place was deleted, and loses nothing that is left', async () => {
    const topic = await newTopic(1)
    await withLog(optionsFor(topic), async (log, join) => {
      for (const text of ['a', 'b', 'c', 'd']) await log.append([record(0, text)])
      const connection = new KafkaConnection(topic, { ...accessOf(), requestTimeoutMs: 3_000, log: testLog })
      await new PartitionReader(connection, topic).deleteBefore([{ partition: 0, offset: 2 }])
      await connection.close()
      expect(await log.lag('loader')).to.deep.equal([{ partition: 0, committed: 2, end: 4 }])
      const consumer = await join()
      expect((await drain(consumer, 2)).map(({ value }) => value.toString())).to.deep.equal(['c', 'd'])
    })
  })

  it('says of each append that failed whether it can still come', async function () {
    const topic = await newTopic(1)
    const options = { ...optionsFor(topic), appendDeadlineMs: 700, requestTimeoutMs: 500 }
    await withLog(options, async (log) => {
      await log.append([record(0, 'before')])
      await kafka.pause()
      const startedAt = performance.now()
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          sleep(n * 10).then(() => codeOf(log.append([record(0, `n${n}`)]))),
        ),
      )
      expect(performance.now() - startedAt).to.be.within(600, 5_000)
      kafka.resume()
      // the first two groups were on their way, the others waited behind them and were never sent
      expect(new Set(outcomes)).to.deep.equal(new Set(['unavailable', 'overloaded']))
      await until(() => codeOf(log.append([record(0, 'after')])).then((code) => code === 'appended'))
      const texts = await textsFrom(log, 0, 0)
      for (const [n, code] of outcomes.entries())
        if (code === 'overloaded') expect(texts, 'never sent').to.not.include(`n${n}`)
    })
  })

  it('keeps everything it confirmed when the broker is killed and started again while records go in and out', async function () {
    const topic = await newTopic(3)
    const options = { ...optionsFor(topic), appendDeadlineMs: 30_000 }
    await withLog(options, async (log, join) => {
      const consumer = await join()
      const [confirmed, read] = [new Set<string>(), new Set<string>()]
      let [appending, reading] = [true, true]
      const append = async (writer: number) => {
        for (let n = 0; appending; n++) {
          const text = `${writer}-${n}`
          if ((await codeOf(log.append([record(n % 3, text)]))) === 'appended') confirmed.add(text)
        }
      }
      const consume = async () => {
        while (reading) {
          const records = await consumer.poll({ bytesMax: 1_000_000, waitMs: 50 }).catch(() => sleep(100, []))
          for (const { value } of records) read.add(value.toString())
          await consumer
            .commit(records.map(({ partition, offset }) => ({ partition, offset: offset + 1 })))
            .catch(() => undefined) // comes again
        }
      }
      const consuming = consume()
      const writers = [0, 1, 2, 3].map(append)
      for (let round = 0; round < 2; round++) {
        await sleep(500)
        await kafka.kill9()
        await kafka.restart()
        const before = confirmed.size
        await until(() => Promise.resolve(confirmed.size > before + 50))
      }
      appending = false
      await Promise.all(writers)
      await until(() => Promise.resolve([...confirmed].every((text) => read.has(text))), 30_000)
      reading = false
      await consuming
      expect(confirmed.size).to.be.greaterThan(200)
    })
  })

  it('hands out nothing that was fetched before a partition was lost and taken anew', async () => {
    const topic = await newTopic(1)
    await withLog(optionsFor(topic), async (log) => {
      const connection = new KafkaConnection(topic, { ...accessOf(), requestTimeoutMs: 3_000, log: testLog })
      const reader = new PartitionReader(connection, topic)
      const fetch = reader.fetch.bind(reader)
      let late: Promise<unknown> = Promise.resolve()
      reader.fetch = async (...asked) => {
        const fetched = await fetch(...asked)
        await late
        return fetched
      }
      const { id: logId } = log
      const offsets = new GroupOffsets(connection, topic, 'loader', 'this Tally')
      const consumer = new KafkaConsumer({
        ...optionsFor(topic),
        connection,
        reader,
        offsets,
        logId,
        group: 'loader',
        leaseMs: 500,
      })
      await log.append([record(0, 'a'), record(0, 'b')])
      await consumer.start()
      expect(await drain(consumer, 2)).to.have.length(2)
      let arrive: () => void = () => undefined
      late = new Promise<void>((resolve) => (arrive = resolve))
      await log.append([record(0, 'c')])
      await consumer.poll({ bytesMax: 1_000, waitMs: 300 }) // the fetch of c is on its way
      const own = (owner: string) =>
        db.pool.query(
          `UPDATE event_log_offsets SET owner = ${owner}, leased_until = now() + interval '1 hour' WHERE topic = $1`,
          [logId],
        )
      await own('gen_random_uuid()')
      await sleep(400) // it notices that another member has the partition
      await own('NULL')
      await sleep(400) // … and takes it anew, from where the group stands
      arrive()
      const texts = (await drain(consumer, 3)).map(({ value }) => value.toString())
      expect(texts).to.deep.equal(['a', 'b', 'c'])
      await consumer.close()
    })
  })

  it('tells consumers of dead letters, with their bytes and where they lie', async () => {
    const topic = await newTopic(2)
    const letters = openDeadLetterTopic({ access: accessOf(), topic, requestTimeoutMs: 3_000, log: testLog })
    const value = Buffer.from([0, 255, 10])
    await letters.publish({ partition: 5, offset: 7, line: 2, reason: 'not JSON: ü', value })
    await letters.close()
    await withLog(optionsFor(topic), async (log) => {
      const [letter] = await log.read({ partition: 1, offset: 0 }, 1_000)
      expect(letter?.value.equals(value)).to.equal(true)
    })
  })
})

async function textsFrom(log: EventLog, partition: number, offset: number): Promise<string[]> {
  return (await log.read({ partition, offset }, 1_000_000)).map(({ value }) => value.toString())
}

const codeOf = (append: Promise<void>): Promise<string> =>
  append.then(
    () => 'appended',
    (err: unknown) => (err as DomainError).code,
  )

async function drain(consumer: LogConsumer, count: number): Promise<LogRecord[]> {
  const records: LogRecord[] = []
  await until(async () => {
    records.push(...(await consumer.poll({ bytesMax: 1_000_000, waitMs: 100 })))
    return records.length >= count
  })
  return records
}

const FETCH = 1
const API_KEY_AT = 4

/** Cuts a connection to a broker when a fetch is sent on it. */
function breakable(socket: Socket, isBroken: () => boolean): Socket {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean
  socket.write = (...args: unknown[]) => {
    const [bytes] = args
    if (isBroken() && Buffer.isBuffer(bytes) && bytes.readInt16BE(API_KEY_AT) === FETCH) {
      socket.destroy(new Error('cut by the test'))
      return false
    }
    return write(...args)
  }
  return socket
}
