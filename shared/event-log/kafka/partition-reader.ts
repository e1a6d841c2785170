import type Cluster from 'kafkajs/src/cluster/index.js'
import type { Broker } from 'kafkajs/src/cluster/index.js'
import type { Position } from '../event-log.ts'
import { type KafkaConnection, NO_LEADER, partitionsByLeader } from './kafka-connection.ts'
import { type AppendedRecord, recordFromMessage } from './record-message.ts'

/** The result of one fetch from a partition. */
export interface Fetched {
  from: Position
  records: AppendedRecord[]
  /** The offset after the last offset that was read. */
  next: number
  /** The offset after the last record that every replica has. */
  end: number
}

/**
 * The maximum number of bytes of one partition in one answer. If the first batch is larger, Kafka returns that batch
 * anyway.
 */
const PARTITION_BYTES_MAX = 2_000_000
const ANSWER_BYTES_MAX = 8_000_000
/** The wait for a leader. A new partition has none for a moment, and so has a partition whose broker just stopped. */
const LEADER_WITHIN_MS = 2_000

/** The first offset of a partition, and the next that will be written. */
export interface Bounds {
  partition: number
  first: number
  end: number
}

export class PartitionReader {
  private readonly connection: KafkaConnection
  private readonly topic: string

  constructor(connection: KafkaConnection, topic: string) {
    this.connection = connection
    this.topic = topic
  }

  listPartitions(): Promise<number[]> {
    return this.connection.use((cluster) =>
      Promise.resolve(
        cluster
          .findTopicPartitionMetadata(this.topic)
          .map(({ partitionId }) => partitionId)
          .sort((a, b) => a - b),
      ),
    )
  }

  findClusterId(): Promise<string> {
    return this.connection.use((cluster) => Promise.resolve(cluster.brokerPool.metadata?.clusterId ?? ''))
  }

  /** The given partitions, by the id of the broker that leads them. */
  listLeaders(partitions: Iterable<number>): Promise<Map<number, number[]>> {
    return this.connection.use((cluster) =>
      Promise.resolve(partitionsByLeader(cluster, this.topic, partitions)),
    )
  }

  /**
   * Fetches from one broker, from positions in partitions that it leads.
   *
   * @param waitMs how long the broker waits with its answer when there are no records
   * @throws an error of the broker of type OFFSET_OUT_OF_RANGE when a position is not in the log
   */
  fetch(leader: number, positions: readonly Position[], waitMs: number): Promise<Fetched[]> {
    return this.connection.use(async (cluster) => {
      const broker = await cluster.findBroker({ nodeId: leader })
      return this.fetchFrom(broker, positions, waitMs)
    })
  }

  /**
   * Fetches from one position, or from the first kept offset if that is later. At the end of the partition, it returns
   * no records.
   */
  async fetchOne(from: Position): Promise<Fetched> {
    const [bounds] = await this.listBounds([from.partition])
    const { first = 0, end = 0 } = bounds ?? {}
    if (from.offset >= end) return { from, records: [], next: from.offset, end }
    const position = { partition: from.partition, offset: Math.max(from.offset, first) }
    const [[leader] = [NO_LEADER]] = [...(await this.listLeaders([from.partition]))]
    const [fetched] = await this.fetch(leader, [position], 0)
    // A broker that throttles its clients returns nothing for some time.
    if (fetched === undefined || fetched.next === position.offset)
      throw new Error('Kafka returned nothing before the end of a partition')
    return fetched
  }

  async listBounds(partitions: readonly number[]): Promise<Bounds[]> {
    const asked = partitions.map((partition) => ({ partition }))
    const ask = (fromBeginning: boolean) => (cluster: Cluster) =>
      cluster.fetchTopicsOffset([{ topic: this.topic, partitions: asked, fromBeginning }])
    const [firsts, ends] = await Promise.all([
      this.connection.usePersistently(ask(true), LEADER_WITHIN_MS),
      this.connection.usePersistently(ask(false), LEADER_WITHIN_MS),
    ])
    const firstOf = offsetsOf(firsts)
    return [...offsetsOf(ends)]
      .map(([partition, end]) => ({ partition, first: firstOf.get(partition) ?? 0, end }))
      .sort((a, b) => a.partition - b.partition)
  }

  /**
   * For each partition, the offset of the first record that was appended at or after an instant; undefined when there
   * is no such record.
   */
  async listOffsetsAt(partitions: readonly number[], atMs: number): Promise<Map<number, number | undefined>> {
    const asked = partitions.map((partition) => ({ partition }))
    const found = offsetsOf(
      await this.connection.use((cluster) =>
        cluster.fetchTopicsOffset([{ topic: this.topic, partitions: asked, fromTimestamp: atMs }]),
      ),
    )
    return new Map(
      partitions.map((partition) => {
        const offset = found.get(partition) ?? -1
        return [partition, offset < 0 ? undefined : offset]
      }),
    )
  }

  /** Permanently deletes the records before these positions. */
  async deleteBefore(positions: readonly Position[]): Promise<void> {
    const offsets = new Map(positions.map(({ partition, offset }) => [partition, String(offset)]))
    await this.connection.use(async (cluster) => {
      for (const [leader, partitions] of partitionsByLeader(cluster, this.topic, offsets.keys())) {
        const broker = await cluster.findBroker({ nodeId: leader })
        await broker.deleteRecords({
          topics: [
            {
              topic: this.topic,
              partitions: partitions.map((partition) => ({
                partition,
                offset: offsets.get(partition) ?? '0',
              })),
            },
          ],
        })
      }
    })
  }

  private async fetchFrom(
    broker: Broker,
    positions: readonly Position[],
    waitMs: number,
  ): Promise<Fetched[]> {
    const { responses } = await broker.fetch({
      maxWaitTime: waitMs,
      minBytes: 1,
      maxBytes: ANSWER_BYTES_MAX,
      topics: [
        {
          topic: this.topic,
          partitions: positions.map(({ partition, offset }) => ({
            partition,
            fetchOffset: String(offset),
            maxBytes: PARTITION_BYTES_MAX,
          })),
        },
      ],
    })
    const asked = new Map(positions.map((position) => [position.partition, position]))
    return responses
      .flatMap(({ partitions }) => partitions)
      .flatMap(({ partition, highWatermark, messages }) => {
        const from = asked.get(partition)
        if (from === undefined) return []
        const records = messages
          .filter((message) => !message.isControlRecord)
          .map((message) => recordFromMessage(partition, message))
          // A broker answers with whole batches. The first batch may begin before the position.
          .filter(({ offset }) => offset >= from.offset)
        const last = messages.at(-1)
        const next = last === undefined ? from.offset : Math.max(from.offset, Number(last.offset) + 1)
        return [{ from, records, next, end: Number(highWatermark) }]
      })
  }
}

const offsetsOf = (topics: { partitions: { partition: number; offset: string }[] }[]): Map<number, number> =>
  new Map(topics.flatMap(({ partitions }) => partitions.map((p) => [p.partition, Number(p.offset)])))
