import { StartupError } from '../../errors/startup-error.ts'
import type { Closeable } from '../../lifecycle/close-all.ts'
import { repeat } from '../../lifecycle/repeat.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Pool } from '../../postgres/core/pool.ts'
import type { Micros } from '../../time/microsecond-clock.ts'
import type { EventLog, LogConsumer, LogRecord, NewRecord, PartitionLag, Position } from '../event-log.ts'
import { endMemberships } from '../group-membership.ts'
import { Backlog } from './backlog.ts'
import { BatchingSender } from './batching-sender.ts'
import { isBrokerError } from './broker-error.ts'
import { KafkaConsumer } from './consumer.ts'
import { GroupOffsets } from './group-offsets.ts'
import { tidyTopic } from './housekeeping.ts'
import { KafkaConnection, type KafkaConnectionOptions } from './kafka-connection.ts'
import { PartitionReader } from './partition-reader.ts'

export interface KafkaEventLogOptions {
  access: Pick<KafkaConnectionOptions, 'brokers' | 'ssl' | 'sasl' | 'connect'>
  topic: string
  /** The prefix of the names of consumer groups, for several installations on one Kafka. */
  groupPrefix: string
  /** The name of the installation. A topic of another installation is refused. */
  owner: string
  /** Whether a topic without an owner becomes this installation's. */
  claims: boolean
  log: Logger
  /** For the leases of consumer groups. */
  pool: Pool
  /** Whether no other process uses this log. Then memberships found at the start are of a crashed process, and end. */
  alone: boolean
  /** An append that is not durable after this time fails. */
  appendDeadlineMs: number
  /** The maximum number of appends that may wait for Kafka. */
  appendsWaitingMax: number
  /** The maximum number of bytes that the waiting appends may have. */
  appendsWaitingBytesMax: number
  /** How long a broker may take to answer. */
  requestTimeoutMs: number
  /** How long a consumer keeps its partitions without a renewal. */
  leaseMs: number
  /** The time after which an unconfirmed append can no longer arrive. */
  settleMs: number
  /** Records that all of these groups have read are deleted after retentionMs. */
  groups: readonly string[]
  /** How long records are kept after all groups have read them. */
  retentionMs: number
  /** The time between two rounds of housekeeping; 0: another process does it. */
  housekeepingMs: number
}

/**
 * Opens the event log on Kafka. The topic must exist.
 *
 * @throws StartupError when Kafka cannot be reached or does not have the topic
 */
export async function openKafkaEventLog(options: KafkaEventLogOptions): Promise<EventLog> {
  const { topic, log, access, requestTimeoutMs } = options
  const connect = (): KafkaConnection => new KafkaConnection(topic, { ...access, requestTimeoutMs, log })
  const [producing, reading] = [connect(), connect()]
  const reader = new PartitionReader(reading, topic)
  const { partitions, logId } = await findTopic(reader, topic).catch(async (err: unknown) => {
    await reading.close()
    throw err
  })
  const sender = new BatchingSender({
    connection: producing,
    topic,
    log,
    deadlineMs: options.appendDeadlineMs,
    requestTimeoutMs,
    waitingMax: options.appendsWaitingMax,
    waitingBytesMax: options.appendsWaitingBytesMax,
  })
  const offsetsOf = (group: string) =>
    new GroupOffsets(reading, topic, options.groupPrefix + group, options.owner)
  const backlogs = new Map<string, Backlog>()
  const backlogOf = (group: string): Backlog => {
    const backlog = backlogs.get(group) ?? new Backlog(reader, options.settleMs)
    backlogs.set(group, backlog)
    return backlog
  }
  // Partitions are listed for each call, because some may have been added.
  const all = () => reader.listPartitions()
  for (const group of options.groups)
    await requireOwn(options, reader, offsetsOf(group), await all()).catch(async (err: unknown) => {
      await reading.close()
      throw err
    })
  if (options.alone) await endMemberships(options.pool, logId)
  const housekeeping =
    options.housekeepingMs > 0 ? keepHouse(options, logId, reader, offsetsOf, all) : undefined
  return {
    name: 'event log',
    partitions,
    id: logId,
    append: (records: readonly NewRecord[]) => sender.append(records),
    async join(group: string): Promise<LogConsumer> {
      const connection = connect()
      const consumer = new KafkaConsumer({
        ...options,
        connection,
        group,
        logId,
        reader: new PartitionReader(connection, topic),
        // Offsets use another connection than fetches. On the same one, a commit would wait for the fetch before it.
        offsets: offsetsOf(group),
      })
      await consumer.start()
      return consumer
    },
    lag: async (group: string) => readLag(reader, offsetsOf(group), await all()),
    moveTo: (group: string, positions: readonly Position[]) => offsetsOf(group).commit(positions),
    lowestUnread: async (group: string) =>
      backlogOf(group).findLowest(await readLag(reader, offsetsOf(group), await all())),
    positionsAt: async (at: Micros) => findPositionsAt(reader, await all(), at),
    keptSince: async () => readKeptSince(reader, await all()),
    read: (from: Position, bytesMax: number): Promise<LogRecord[]> => read(reader, from, bytesMax),
    async close(): Promise<void> {
      await housekeeping?.close()
      await sender.drain()
      await producing.close()
      await reading.close()
    },
  }
}

/**
 * Reads the number of partitions and makes the log's id. Why the id contains the cluster's id: another Kafka at the
 * same address begins at offset 0, and none of its records are loaded.
 */
async function findTopic(
  reader: PartitionReader,
  topic: string,
): Promise<{ partitions: number; logId: string }> {
  try {
    const [partitions, clusterId] = [await reader.listPartitions(), await reader.findClusterId()]
    return { partitions: partitions.length, logId: `kafka/${clusterId}/${topic}` }
  } catch (err) {
    const missing = isBrokerError(err) && err.type === 'UNKNOWN_TOPIC_OR_PARTITION'
    const message = missing
      ? `Kafka has no topic ${topic}: run npm run migrate`
      : `Kafka cannot be reached (KAFKA_BROKERS): ${err instanceof Error ? err.message : String(err)}`
    throw new StartupError(message, { cause: err })
  }
}

/** Refuses the topic of another installation: two of them would each load a part of the other's usage as their own. */
async function requireOwn(
  { owner, claims, topic }: KafkaEventLogOptions,
  reader: PartitionReader,
  offsets: GroupOffsets,
  partitions: readonly number[],
): Promise<void> {
  const owners = await offsets.listOwners(partitions)
  if (owners.some((other) => other !== owner))
    throw new StartupError(`the topic ${topic} in Kafka is that of another Tally: set KAFKA_TOPIC_PREFIX`)
  if (!claims || owners.length > 0) return
  const committed = await offsets.fetch(partitions)
  const bounds = await reader.listBounds(partitions)
  await offsets.commit(
    bounds.map(({ partition, first }) => ({ partition, offset: committed.get(partition) ?? first })),
  )
}

function keepHouse(
  options: KafkaEventLogOptions,
  logId: string,
  reader: PartitionReader,
  offsetsOf: (group: string) => GroupOffsets,
  listPartitions: () => Promise<number[]>,
): Closeable {
  const { pool, log, groups, retentionMs, topic } = options
  const work = () =>
    tidyTopic({
      pool,
      logId,
      retentionMs,
      async loaded() {
        const partitions = await listPartitions()
        const lags = await Promise.all(groups.map((group) => readLag(reader, offsetsOf(group), partitions)))
        return partitions.map((partition) => ({
          partition,
          offset: Math.min(
            ...lags.map((lag) => lag.find((of) => of.partition === partition)?.committed ?? 0),
          ),
        }))
      },
      deleteBefore: (positions) => reader.deleteBefore(positions),
    })
  return repeat('event log housekeeping', options.housekeepingMs, work, (err) => {
    log.warn({ err, topic }, 'housekeeping of the topic of the event log failed, trying again')
  })
}

async function readLag(
  reader: PartitionReader,
  offsets: GroupOffsets,
  partitions: readonly number[],
): Promise<PartitionLag[]> {
  const committed = await offsets.fetch(partitions)
  const bounds = await reader.listBounds(partitions)
  return bounds.map(({ partition, first, end }) => {
    const offset = committed.get(partition) ?? first
    // If the log does not have the committed offset, consumers start at the beginning of the log.
    return { partition, committed: offset < first || offset > end ? first : offset, end }
  })
}

async function findPositionsAt(
  reader: PartitionReader,
  partitions: readonly number[],
  at: Micros,
): Promise<Position[]> {
  const bounds = await reader.listBounds(partitions)
  const found = await reader.listOffsetsAt(partitions, Math.floor(at / 1_000))
  return bounds.map(({ partition, end }) => ({ partition, offset: found.get(partition) ?? end }))
}

async function readKeptSince(reader: PartitionReader, partitions: readonly number[]): Promise<Micros> {
  const begun = (await reader.listBounds(partitions)).filter(({ first }) => first > 0)
  const since = await Promise.all(
    begun.map(async ({ partition, first }) => {
      const { records } = await reader.fetchOne({ partition, offset: first })
      return (records[0]?.appendedAtMs ?? Date.now()) * 1_000
    }),
  )
  return Math.max(0, ...since)
}

async function read(reader: PartitionReader, from: Position, bytesMax: number): Promise<LogRecord[]> {
  const taken: LogRecord[] = []
  let bytes = 0
  for (let offset = from.offset; bytes < bytesMax;) {
    const { records, next, end } = await reader.fetchOne({ partition: from.partition, offset })
    if (offset >= end) break
    offset = next
    for (const record of records) {
      if (bytes >= bytesMax) break
      taken.push(record)
      bytes += record.value.length
    }
  }
  return taken
}
