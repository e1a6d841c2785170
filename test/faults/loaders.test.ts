import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { randomInteger, seededRandom } from '../../clients/reporter/simulate/seeded-random.ts'
import { DEAD_LETTERS_TOPIC, USAGE_TOPIC } from '../../shared/event-log/event-log.ts'
import { KafkaConnection } from '../../shared/event-log/kafka/kafka-connection.ts'
import { PartitionReader } from '../../shared/event-log/kafka/partition-reader.ts'
import { usageEventToLine } from '../../shared/usage-lines/log-line.ts'
import { IS_LONG, SEED } from '../support/fault-seed.ts'
import { findKafka } from '../support/kafka.ts'
import { testLog } from '../support/log.ts'
import type { RunningService } from '../support/start-service.ts'
import { until } from '../support/until.ts'
import { makeReport } from '../support/usage-event.ts'
import { checkLedger, checkUsage } from './check-ledger.ts'
import { type FaultStage, LEASE_MS, startFaultStage } from './fault-stage.ts'
import { accountBeside, appendRefusedLines } from './poison.ts'

const CHANGES = IS_LONG ? 60 : 6
const LOADERS_MAX = 3
/** A few batches take a second or two. */
const CRASH_WITHIN_MS = 60_000

describe('loaders of one event log', function () {
  this.timeout(IS_LONG ? 900_000 : 120_000)
  const random = seededRandom(`loaders ${SEED}`)
  let stage: FaultStage
  let brokers: string
  let dead = 0

  before(async function () {
    brokers = await findKafka(this)
    stage = await startFaultStage('loaders', { brokers })
  })
  after(() => (stage as FaultStage | undefined)?.close())

  it('join and leave under load, half of them with kill -9: each event counts once', async () => {
    const others: RunningService[] = []
    await stage.ledger.during(async () => {
      for (let change = 0; change < CHANGES; change++) {
        const leaving = others.length === LOADERS_MAX - 1 || (others.length > 0 && random() < 0.5)
        const [loader] = leaving ? others.splice(randomInteger(random, others.length), 1) : []
        if (loader === undefined) others.push(await stage.addLoader())
        else if (random() < 0.5) await loader.kill9()
        else expect(await loader.stop(), loader.output()).to.equal(0)
        await sleep(LEASE_MS * random() * 2)
      }
    })
    for (const loader of others) await loader.stop()
    await checkUsage(stage)
  })

  it('sleep longer than their lease and wake up beside another: each event counts once', async () => {
    const { loader } = stage.services
    const other = await stage.addLoader()
    await stage.ledger.during(async () => {
      await sleep(500 + 500 * random())
      loader.process.kill('SIGSTOP')
      await sleep(LEASE_MS * 2.5)
    })
    await stage.drained() // only by the other loader
    await stage.ledger.during(async () => {
      await sleep(300)
      loader.process.kill('SIGCONT')
      await sleep(1_000)
    })
    await checkUsage(stage)
    expect(await other.stop(), other.output()).to.equal(0)
  })

  for (const point of ['loader-inserted', 'loader-committing'])
    it(`take over from one that crashed between insert and commit (${point}): each event counts once`, async () => {
      const { loader } = stage.services
      await loader.stop()
      // During or after the start of the other loader.
      await stage.restart('loader', { CRASH_AT: `${point}:${2 + randomInteger(random, 8)}` })
      const crashed = once(loader.process, 'exit')
      const other = await stage.ledger.during(async () => {
        const joined = stage.addLoader()
        await Promise.race([
          crashed,
          sleep(CRASH_WITHIN_MS, undefined, { ref: false }).then(() => {
            throw new Error(`it goes on: ${loader.output()}`)
          }),
        ])
        return joined
      })
      expect(loader.process.signalCode).to.equal('SIGKILL')
      await checkUsage(stage) // by the other loader
      await loader.restart()
      await other.kill9()
      await checkUsage(stage)
    })

  it('bury what nobody can count, in PostgreSQL and in a topic, and go on with what comes after it', async () => {
    const topicOf = (name: string) => (stage.env['KAFKA_TOPIC_PREFIX'] ?? '') + name
    const before = await countDead(stage)
    const poison = [
      Buffer.from('no JSON'),
      Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), // no UTF-8
      Buffer.from('{"quantity":1e999999}'),
      Buffer.from(usageEventToLine(makeReport({ quantity: '1'.padEnd(400, '0') }))),
      Buffer.from('['.repeat(200_000)),
      Buffer.alloc(900_000, 'x'),
      Buffer.from('{"name":"tokens","amount":"1"}'),
      Buffer.from(usageEventToLine(makeReport()).replace('account_', 'customer_')),
    ]
    const producer = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING }).producer({
      createPartitioner: Partitioners.DefaultPartitioner,
    })
    await producer.connect()
    await stage.ledger.during(async () => {
      for (const value of [...poison, null])
        for (const partition of [0, 1]) {
          await producer.send({ topic: topicOf(USAGE_TOPIC), messages: [{ partition, value }] })
          await sleep(30)
        }
      // A good line between bad lines of one record.
      const good = makeReport(await accountBeside(stage))
      const lines = ['bad', usageEventToLine(good), '{}'].join('\n')
      await producer.send({ topic: topicOf(USAGE_TOPIC), messages: [{ partition: 0, value: lines }] })
      dead += (poison.length + 1) * 2 + 2 + (await appendRefusedLines(stage.eventLog))
    })
    await producer.disconnect()
    await checkUsage(stage)
    await stage.drained()
    expect((await countDead(stage)) - before).to.equal(dead)
    const { rows } = await stage.pool.query<{ value: Buffer }>('SELECT value FROM dead_letters')
    const kept = new Set(rows.map(({ value }) => value.toString('hex')))
    for (const value of poison)
      expect(kept.has(value.toString('hex')), value.toString().slice(0, 50)).to.equal(true)
    const told = await readTopic(brokers, topicOf(DEAD_LETTERS_TOPIC), rows.length)
    expect(new Set(told.map((value) => value.toString('hex')))).to.deep.equal(kept)
  })

  it('leave a log, a list and dead letters that add up', () => checkLedger(stage, dead, 1))
})

async function countDead({ pool }: FaultStage): Promise<number> {
  const { rows } = await pool.query<{ count: string }>('SELECT count(*) AS count FROM dead_letters')
  return Number(rows[0]?.count)
}

/** Reads the values of all records of a topic, when it has at least this many. */
async function readTopic(brokers: string, topic: string, atLeast: number): Promise<Buffer[]> {
  const connection = new KafkaConnection(topic, {
    brokers: brokers.split(','),
    ssl: false,
    sasl: undefined,
    log: testLog,
    requestTimeoutMs: 3_000,
  })
  const reader = new PartitionReader(connection, topic)
  try {
    return await until(async () => {
      const values: Buffer[] = []
      for (const partition of await reader.listPartitions())
        for (let offset = 0; ;) {
          const { records } = await reader.fetchOne({ partition, offset })
          const last = records.at(-1)
          if (last === undefined) break
          values.push(...records.map(({ value }) => value))
          offset = last.offset + 1
        }
      return values.length >= atLeast && values
    })
  } finally {
    await connection.close()
  }
}
