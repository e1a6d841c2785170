import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import {
  openKafkaEventLog,
  type KafkaEventLogOptions,
} from '../../../shared/event-log/kafka/kafka-event-log.ts'
import { ensureTopics } from '../../../shared/event-log/kafka/topics.ts'
import { findKafka, type KafkaBroker } from '../../support/kafka.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { eventLogContract } from './contract.ts'

describe('event log on Kafka', function () {
  this.timeout(120_000)
  let kafka: KafkaBroker
  let db: TestDatabase
  const broken = new Set<string>()

  before(async function () {
    kafka = await findKafka(this)
    db = await createDatabase('kafka_event_log')
  })
  after(async () => {
    await kafka.own?.stop()
    await db.close()
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
  })

  eventLogContract('Kafka', () =>
    Promise.resolve({
      async makeTopic(partitions) {
        const topic = `t-${randomBytes(4).toString('hex')}`
        await ensureTopics(accessOf(), [{ topic, partitions, replication: 1, minInSyncReplicas: 1 }])
        return topic
      },
      open: (topic) => openKafkaEventLog(optionsFor(topic)),
      breakReads(topic) {
        broken.add(topic)
        return Promise.resolve(() => {
          broken.delete(topic)
          return Promise.resolve()
        })
      },
    }),
  )
})

const FETCH = 1
const API_KEY_AT = 4

/** Cuts a connection to a broker as soon as a fetch is to go over it. */
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
