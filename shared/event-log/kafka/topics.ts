import { setTimeout as sleep } from 'node:timers/promises'
import { type Admin, Kafka, logLevel } from 'kafkajs'
import { StartupError } from '../../errors/startup-error.ts'
import { isBrokerError } from './broker-error.ts'
import type { KafkaAccess } from './kafka-connection.ts'

export interface TopicPlan {
  topic: string
  partitions: number
  replication: number
  minInSyncReplicas: number
}

/** Kafka's own default. Groups of records are made to fit it. */
const BATCH_BYTES_LIMIT = 1_048_588
const CONNECT_MS = 3_000
const REQUEST_MS = 15_000
const LEADERS_WITHIN_MS = 30_000
const LOOK_AGAIN_MS = 100

/**
 * Makes topics that are missing, and adds partitions to topics that have too few. It changes nothing else of an
 * existing topic, and never removes a partition.
 *
 * @throws StartupError when Kafka cannot be reached or refuses
 */
export async function ensureTopics(access: KafkaAccess, plans: readonly TopicPlan[]): Promise<void> {
  try {
    await withAdmin(access, async (admin) => {
      for (const plan of plans) await ensureTopic(admin, plan)
    })
  } catch (err) {
    throw new StartupError(`the topics cannot be made in Kafka (KAFKA_BROKERS): ${describe(err, plans)}`, {
      cause: err,
    })
  }
}

/** Does some work that needs only kafkajs's admin client. */
export async function withAdmin<T>(
  { brokers, ssl, sasl }: KafkaAccess,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const kafka = new Kafka({
    clientId: 'tally-admin',
    brokers: [...brokers],
    ssl,
    ...(sasl === undefined ? {} : { sasl }),
    connectionTimeout: CONNECT_MS,
    requestTimeout: REQUEST_MS,
    logLevel: logLevel.NOTHING,
    retry: { retries: 3, initialRetryTime: 200 },
  })
  const admin = kafka.admin()
  try {
    await admin.connect()
    return await work(admin)
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

/** The message of an error. kafkajs puts a broker's answers for all topics into the `errors` of one error. */
function describe(err: unknown, plans: readonly TopicPlan[]): string {
  if (err instanceof Error && 'errors' in err && Array.isArray(err.errors) && err.errors.length > 0)
    return describe(err.errors[0], plans)
  const [plan] = plans
  if (isBrokerError(err) && err.type === 'INVALID_REPLICATION_FACTOR' && plan !== undefined)
    return `Kafka has fewer than the ${plan.replication} brokers of KAFKA_REPLICATION; for a Kafka with a single broker, set KAFKA_REPLICATION=1 and KAFKA_MIN_INSYNC_REPLICAS=1`
  return err instanceof Error ? err.message : String(err)
}

async function ensureTopic(admin: Admin, plan: TopicPlan): Promise<void> {
  const { topic, partitions, replication, minInSyncReplicas } = plan
  const made = await admin.createTopics({
    // kafkajs must not wait for leaders, because it gives up when a broker does not have the topic yet.
    waitForLeaders: false,
    topics: [
      {
        topic,
        numPartitions: partitions,
        replicationFactor: replication,
        configEntries: [
          { name: 'min.insync.replicas', value: String(minInSyncReplicas) },
          // Kafka deletes nothing by itself. housekeeping.ts deletes records once they are loaded and their retention
          // is over.
          { name: 'retention.ms', value: '-1' },
          { name: 'retention.bytes', value: '-1' },
          { name: 'cleanup.policy', value: 'delete' },
          // The audit finds positions by the time at which Kafka received records, because all these times are of one
          // clock.
          { name: 'message.timestamp.type', value: 'LogAppendTime' },
          // Kafka decompresses batches that other programs have compressed, because loaders read only gzip.
          { name: 'compression.type', value: 'uncompressed' },
          { name: 'max.message.bytes', value: String(BATCH_BYTES_LIMIT) },
          { name: 'unclean.leader.election.enable', value: 'false' },
        ],
      },
    ],
  })
  const present = await countLedPartitions(admin, topic)
  if (!made && present < partitions) {
    await admin.createPartitions({ topicPartitions: [{ topic, count: partitions }] })
    await countLedPartitions(admin, topic, partitions)
  }
}

/** The number of a topic's partitions, once they all have a leader. */
async function countLedPartitions(admin: Admin, topic: string, atLeast = 1): Promise<number> {
  const end = performance.now() + LEADERS_WITHIN_MS
  for (;;) {
    try {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
      const partitions = topics[0]?.partitions ?? []
      if (partitions.length >= atLeast && partitions.every(({ leader }) => leader >= 0))
        return partitions.length
    } catch (err) {
      if (!isBrokerError(err) || !err.retriable) throw err
    }
    if (performance.now() > end) throw new Error(`topic ${topic} has partitions without a leader`)
    await sleep(LOOK_AGAIN_MS)
  }
}
