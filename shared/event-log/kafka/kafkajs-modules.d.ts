// Types of the layer below kafkajs's producer and consumer, because kafkajs's own types leave this layer out. They are
// for version 2.2.4, which package.json pins.

declare module 'kafkajs/src/cluster/index.js' {
  import type { ISocketFactory, KafkaConfig, RetryOptions } from 'kafkajs'

  export interface FetchedMessage {
    offset: string
    /** Milliseconds since 1970. */
    timestamp: string
    value: Buffer | null
    headers: Record<string, Buffer | Buffer[] | undefined>
    isControlRecord: boolean
  }

  export interface ProducedMessage {
    key: null
    value: Buffer
    headers: Record<string, string>
  }

  export interface TopicOffset {
    partition: number
    offset: string
  }

  export interface CommittedOffset extends TopicOffset {
    metadata: string | null
  }

  export interface Broker {
    /** Versions of requests, by Kafka's numbers; null until the broker is connected. */
    readonly versions: Record<string, { minVersion: number; maxVersion: number }> | null
    produce(request: {
      topicData: { topic: string; partitions: { partition: number; messages: ProducedMessage[] }[] }[]
      acks: number
      /** How long the leader waits for the other replicas, in milliseconds. */
      timeout: number
    }): Promise<unknown>
    fetch(request: {
      maxWaitTime: number
      minBytes: number
      maxBytes: number
      topics: {
        topic: string
        partitions: { partition: number; fetchOffset: string; maxBytes: number }[]
      }[]
    }): Promise<{
      responses: {
        partitions: { partition: number; highWatermark: string; messages: FetchedMessage[] }[]
      }[]
    }>
    deleteRecords(request: {
      topics: { topic: string; partitions: { partition: number; offset: string }[] }[]
    }): Promise<unknown>
    offsetCommit(request: {
      groupId: string
      groupGenerationId: number
      memberId: string
      topics: { topic: string; partitions: CommittedOffset[] }[]
    }): Promise<unknown>
    offsetFetch(request: {
      groupId: string
      topics: { topic: string; partitions: { partition: number }[] }[]
    }): Promise<{ responses: { partitions: CommittedOffset[] }[] }>
  }

  export interface ClusterOptions {
    logger: unknown
    socketFactory: ISocketFactory
    brokers: readonly string[]
    ssl: KafkaConfig['ssl']
    sasl: KafkaConfig['sasl']
    clientId: string
    connectionTimeout: number
    authenticationTimeout: number
    requestTimeout: number
    enforceRequestTimeout: boolean
    metadataMaxAge: number
    allowAutoTopicCreation: boolean
    retry: RetryOptions
  }

  export default class Cluster {
    readonly brokerPool: { readonly metadata: { readonly clusterId: string } | null }
    constructor(options: ClusterOptions)
    connect(): Promise<void>
    addTargetTopic(topic: string): Promise<void>
    refreshMetadata(): Promise<void>
    refreshMetadataIfNecessary(): Promise<void>
    findTopicPartitionMetadata(topic: string): { partitionId: number; leader: number }[]
    findBroker(which: { nodeId: number }): Promise<Broker>
    findGroupCoordinator(which: { groupId: string }): Promise<Broker>
    fetchTopicsOffset(
      topics: (
        | { topic: string; partitions: { partition: number }[]; fromBeginning: boolean }
        | { topic: string; partitions: { partition: number }[]; fromTimestamp: number }
      )[],
    ): Promise<{ topic: string; partitions: TopicOffset[] }[]>
  }
}

declare module 'kafkajs/src/network/requestQueue/index.js' {
  export default class RequestQueue {
    throttledUntil: number
    throttleCheckTimeoutId: NodeJS.Timeout | null
    pending: unknown[]
    checkPendingRequests(): void
    scheduleCheckPendingRequests(): void
  }
}

declare module 'kafkajs/src/protocol/requests/metadata/v5/response.js' {
  interface Metadata {
    topicMetadata: { partitionMetadata: { partitionErrorCode: number; leader: number }[] }[]
  }
  const response: { parse: (data: Metadata) => Promise<Metadata> }
  export default response
}

declare module 'kafkajs/src/protocol/requests/metadata/v6/response.js' {
  interface Metadata {
    topicMetadata: { partitionMetadata: { partitionErrorCode: number; leader: number }[] }[]
  }
  const response: { parse: (data: Metadata) => Promise<Metadata> }
  export default response
}
