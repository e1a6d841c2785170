// Why the default import: Node does not see the names of kafkajs's enums among its exports.
import kafkajs, { type Admin } from 'kafkajs'
import type { Logger } from '../../logging/logger.ts'
import { isBrokerError } from './broker-error.ts'
import { type KafkaAccess, KafkaConnection } from './kafka-connection.ts'
import { withAdmin } from './topics.ts'

/** A topic as it stands. */
export interface ExaminedTopic {
  topic: string
  /** The replicas of each partition, and how many of them are in sync and lead; empty when there is no such topic. */
  partitions: { partition: number; hasLeader: boolean; replicas: number; inSync: number }[]
  /** Its settings in force, by Kafka's names. */
  settings: ReadonlyMap<string, string>
}

/** A Kafka as it stands. */
export interface ExaminedKafka {
  brokers: number
  topics: ExaminedTopic[]
  /** Undefined when the broker does not tell. */
  autoCreatesTopics: boolean | undefined
}

/** The versions of a request that a broker takes. */
export interface RequestVersions {
  minVersion: number
  maxVersion: number
}

/** What kafkajs can speak of each request we make, by Kafka's number of it: it takes the newest that both know. */
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

/** From 3.9 on brokers take this version of Fetch. */
export const FETCH = { key: 1, from39: 17 }

/** Looks at the brokers and topics, and changes nothing. @throws Error when Kafka cannot be reached */
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

/** Of one broker: they are to be alike. Whoever may not read a broker's settings is told nothing. */
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

/** Which versions of which requests the leaders of a topic's partitions take, by Kafka's numbers of them. */
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
