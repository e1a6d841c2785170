// Why the default import: Node does not find the names of kafkajs's enums among its exports.
import kafkajs, { type Admin } from 'kafkajs'
import type { Logger } from '../../logging/logger.ts'
import { isBrokerError } from './broker-error.ts'
import { type KafkaAccess, KafkaConnection } from './kafka-connection.ts'
import { withAdmin } from './topics.ts'

/** The current state of a topic. */
export interface ExaminedTopic {
  topic: string
  /**
   * For each partition, the number of replicas, how many of them are in sync, and whether there is a leader; empty when
   * there is no such topic.
   */
  partitions: { partition: number; hasLeader: boolean; replicas: number; inSync: number }[]
  /** The effective settings of the topic, by Kafka's names. */
  settings: ReadonlyMap<string, string>
}

/** The current state of a Kafka. */
export interface ExaminedKafka {
  brokers: number
  topics: ExaminedTopic[]
  /** Undefined when the setting cannot be read. */
  autoCreatesTopics: boolean | undefined
}

/** The versions of a request that a broker accepts. */
export interface RequestVersions {
  minVersion: number
  maxVersion: number
}

/**
 * The newest version that kafkajs supports, for each request that Tally makes, by Kafka's number of the request. A
 * request uses the newest version that both kafkajs and the broker support.
 */
export const SPOKEN: ReadonlyMap<number, { name: string; maxVersion: number }> = new Map([
  [0, { name: 'Produce', maxVersion: 7 }],
  [1, { name: 'Fetch', maxVersion: 11 }],
  [2, { name: 'ListOffsets', maxVersion: 3 }],
  [3, { name: 'Metadata', maxVersion: 6 }],
  [8, { name: 'OffsetCommit', maxVersion: 5 }],
  [9, { name: 'OffsetFetch', maxVersion: 4 }],
  [10, { name: 'FindCoordinator', maxVersion: 2 }],
  [19, { name: 'CreateTopics', maxVersion: 3 }],
  [21, { name: 'DeleteRecords', maxVersion: 1 }],
])

/** Kafka's number of Fetch, and the version of Fetch that brokers accept from Kafka 3.9 on. */
export const FETCH = { key: 1, from39: 17 }

/**
 * Reads the state of brokers and topics, and changes nothing.
 *
 * @throws Error when Kafka cannot be reached
 */
export const examineKafka = (access: KafkaAccess, names: readonly string[]): Promise<ExaminedKafka> =>
  withAdmin(access, async (admin) => {
    const { brokers } = await admin.describeCluster()
    const [first] = brokers
    return {
      brokers: brokers.length,
      topics: await Promise.all(names.map((topic) => examineTopic(admin, topic))),
      autoCreatesTopics: first === undefined ? undefined : await readAutoCreate(admin, first.nodeId),
    }
  })

async function examineTopic(admin: Admin, topic: string): Promise<ExaminedTopic> {
  const existing = await admin.listTopics()
  if (!existing.includes(topic)) return { topic, partitions: [], settings: new Map() }
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }],
  })
  const partitions = (topics[0]?.partitions ?? []).map(({ partitionId, leader, replicas, isr }) => ({
    partition: partitionId,
    hasLeader: leader >= 0,
    replicas: replicas.length,
    inSync: isr.length,
  }))
  const entries = resources.flatMap(({ configEntries }) => configEntries)
  return {
    topic,
    partitions,
    settings: new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
  }
}

/**
 * Reads the setting from one broker, because all brokers are expected to have the same setting. Returns undefined if
 * Tally has no right to read a broker's settings.
 */
async function readAutoCreate(admin: Admin, broker: number): Promise<boolean | undefined> {
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [
        {
          type: kafkajs.ConfigResourceTypes.BROKER,
          name: String(broker),
          configNames: ['auto.create.topics.enable'],
        },
      ],
    })
    const value = resources[0]?.configEntries[0]?.configValue
    return value === undefined ? undefined : value === 'true'
  } catch (err) {
    if (isBrokerError(err)) return undefined
    throw err
  }
}

/** For each leader of the topic's partitions, the versions of requests that it accepts, by Kafka's number. */
export async function readRequestVersions(
  access: KafkaAccess,
  { topic, requestTimeoutMs }: { topic: string; requestTimeoutMs: number },
  log: Logger,
): Promise<ReadonlyMap<number, RequestVersions>[]> {
  const connection = new KafkaConnection(topic, { ...access, requestTimeoutMs, log })
  try {
    return await connection.use(async (cluster) => {
      const leaders = new Set(cluster.findTopicPartitionMetadata(topic).map(({ leader }) => leader))
      const brokers = await Promise.all(
        [...leaders].filter((id) => id >= 0).map((nodeId) => cluster.findBroker({ nodeId })),
      )
      return brokers.map(
        ({ versions }) => new Map(Object.entries(versions ?? {}).map(([key, value]) => [Number(key), value])),
      )
    })
  } finally {
    await connection.close()
  }
}
