import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import type { KafkaConfig } from 'kafkajs'
import Cluster from 'kafkajs/src/cluster/index.js'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import metadataV5 from 'kafkajs/src/protocol/requests/metadata/v5/response.js'
import metadataV6 from 'kafkajs/src/protocol/requests/metadata/v6/response.js'
import type { Closeable } from '../../lifecycle/close-all.ts'
import type { Logger } from '../../logging/logger.ts'
import { withinMs } from '../../time/within-ms.ts'
import { isBrokerError, isRefusal } from './broker-error.ts'

/** The brokers of a Kafka, and the data for signing in there. */
export interface KafkaAccess {
  /** Host and port of some brokers, which name all others. */
  brokers: readonly string[]
  ssl: boolean | ConnectionOptions
  sasl: KafkaConfig['sasl']
}

interface Connected {
  cluster: Promise<Cluster>
  sockets: Set<Socket>
  /** Whether the metadata may be outdated, for example because a broker no longer leads a partition. */
  stale: boolean
  dropped: boolean
}

export interface KafkaConnectionOptions extends KafkaAccess {
  log: Logger
  /** A request to a broker fails if it is not answered within this time. */
  requestTimeoutMs: number
  /** Opens a socket; tests inject faults here. */
  connect?: (at: { host: string; port: number }) => Socket
}

const CONNECT_MS = 3_000
const METADATA_AGE_MAX_MS = 60_000
const TRY_AGAIN_MS = 200
const REFRESH_EVERY_MS = 500
const KEEP_ALIVE_MS = 60_000

/**
 * Connections to the brokers of a cluster. They are opened again after each failure.
 *
 * This class uses the request layer of kafkajs, not its producer and consumer. When the producer retries, it mixes up
 * the answers of brokers for several partitions. The consumer continues for some time to read partitions that already
 * belong to another member. See docs/decisions/0005-kafka-below-the-producer.md.
 */
export class KafkaConnection implements Closeable {
  readonly name = 'Kafka connection'
  private readonly options: KafkaConnectionOptions
  private readonly topic: string
  private current: Connected | undefined
  private refreshedAt = -Infinity

  constructor(topic: string, options: KafkaConnectionOptions) {
    this.topic = topic
    this.options = options
    calmRequestQueues()
    forgiveLeaderlessPartitions()
  }

  /**
   * Does some work with the cluster, once it is connected and has recent metadata of the topic. If the work fails
   * without an answer from a broker, the connections are dropped. Then other work on these connections fails, too, and
   * the next call opens new ones.
   *
   * @param deadlineMs after this time, unfinished work fails
   */
  async use<T>(
    work: (cluster: Cluster) => Promise<T>,
    deadlineMs = this.options.requestTimeoutMs * 2,
  ): Promise<T> {
    const used = (this.current ??= this.open())
    try {
      return await withinMs(deadlineMs, this.work(used, work), 'Kafka did not answer in time')
    } catch (err) {
      if (isBrokerError(err)) used.stale = true
      else this.drop(used, err)
      throw err
    }
  }

  /**
   * Does some work, and repeats it until it succeeds or the time is over, because a broker that just started does not
   * answer all requests yet.
   */
  async usePersistently<T>(work: (cluster: Cluster) => Promise<T>, withinMs: number): Promise<T> {
    const end = performance.now() + withinMs
    for (;;) {
      try {
        return await this.use(work)
      } catch (err) {
        if (isRefusal(err) || performance.now() + TRY_AGAIN_MS > end) throw err
        await sleep(TRY_AGAIN_MS)
      }
    }
  }

  /** Notes that the metadata names outdated leaders of partitions. It is requested again, but not too often. */
  refreshSoon(): void {
    if (this.current === undefined || performance.now() - this.refreshedAt < REFRESH_EVERY_MS) return
    this.refreshedAt = performance.now()
    this.current.stale = true
  }

  close(): Promise<void> {
    if (this.current !== undefined) this.drop(this.current, new Error('the connection was closed'))
    return Promise.resolve()
  }

  private async work<T>(used: Connected, work: (cluster: Cluster) => Promise<T>): Promise<T> {
    const cluster = await used.cluster
    if (used.stale) {
      await cluster.refreshMetadata()
      used.stale = false
    } else await cluster.refreshMetadataIfNecessary()
    return work(cluster)
  }

  private open(): Connected {
    const { brokers, ssl, sasl, log, requestTimeoutMs, connect = connectTcp } = this.options
    const sockets = new Set<Socket>()
    let isDropped = () => false
    const cluster = new Cluster({
      logger: loggerInto(log),
      socketFactory: ({ host, port, onConnect }) => {
        const socket =
          ssl === false
            ? connect({ host, port })
            : connectTls({
                host,
                port,
                ...(isIP(host) === 0 ? { servername: host } : {}),
                ...(ssl === true ? {} : ssl),
              })
        socket.once(ssl === false ? 'connect' : 'secureConnect', onConnect)
        socket.setKeepAlive(true, KEEP_ALIVE_MS)
        socket.setNoDelay(true)
        sockets.add(socket)
        // After the connection was dropped, kafkajs continues to connect for a while.
        if (isDropped()) socket.destroy(new Error('the connection was dropped'))
        socket.once('close', () => sockets.delete(socket))
        return socket
      },
      brokers,
      ssl: ssl === false ? undefined : ssl,
      sasl,
      clientId: 'tally',
      connectionTimeout: CONNECT_MS,
      authenticationTimeout: CONNECT_MS,
      requestTimeout: requestTimeoutMs,
      enforceRequestTimeout: true,
      metadataMaxAge: METADATA_AGE_MAX_MS,
      allowAutoTopicCreation: false,
      // One attempt for each broker of the list; the caller decides about further attempts.
      retry: { retries: brokers.length, initialRetryTime: 20, maxRetryTime: 200 },
    })
    const connected = cluster
      .connect()
      .then(() => cluster.addTargetTopic(this.topic))
      .then(() => cluster)
    const opened: Connected = { cluster: connected, sockets, stale: false, dropped: false }
    isDropped = () => opened.dropped
    // Callers that wait for this connection get the error; the next caller opens new connections.
    connected.catch((err: unknown) => {
      this.drop(opened, err)
    })
    return opened
  }

  private drop(dropped: Connected, why: unknown): void {
    dropped.dropped = true
    if (this.current === dropped) this.current = undefined
    // Sockets are destroyed with an error, because only then does kafkajs fail the requests under way.
    for (const socket of dropped.sockets)
      socket.destroy(why instanceof Error ? why : new Error('the connection was dropped'))
  }
}

/** Kafka's id for a missing leader. */
export const NO_LEADER = -1

/** The partitions that each broker leads, by the broker's id. Partitions without a leader are under NO_LEADER. */
export function partitionsByLeader(
  cluster: Cluster,
  topic: string,
  partitions: Iterable<number>,
): Map<number, number[]> {
  const leaders = new Map(
    cluster.findTopicPartitionMetadata(topic).map(({ partitionId, leader }) => [partitionId, leader]),
  )
  const byLeader = new Map<number, number[]>()
  for (const partition of partitions) {
    const leader = leaders.get(partition) ?? NO_LEADER
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), partition])
  }
  return byLeader
}

/** kafkajs also logs the errors that it throws. Here they are only debug lines, because callers log what they catch. */
function loggerInto(log: Logger): unknown {
  const debug = (message: string, extra: object = {}) => {
    log.debug({ ...extra }, message)
  }
  const silent = () => undefined
  const logger = { error: debug, warn: debug, info: silent, debug: silent, namespace: (): unknown => logger }
  return logger
}

/**
 * After each answer, kafkajs 2.2.4 starts a timer with a negative delay, which starts itself again without end. This
 * wakes the process each millisecond for each connection. The timer is only needed while requests wait, or while the
 * broker has asked for slower requests. This patch starts it only then.
 *
 * @see kafkajs pull request 1755, never merged
 */
function calmRequestQueues(): void {
  RequestQueue.prototype.scheduleCheckPendingRequests = function scheduleCheckPendingRequests() {
    if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null
        this.checkPendingRequests()
      },
      Math.max(this.throttledUntil - Date.now(), 10),
    )
  }
}

/** LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE and LISTENER_NOT_FOUND. */
const PASSING = new Set([5, 9, 72])
let forgives = false

/**
 * When one partition of a topic has no leader for a moment, kafkajs discards all metadata of the topic. Then the other
 * partitions could not be written either. This patch reads such a partition as one without a leader.
 */
function forgiveLeaderlessPartitions(): void {
  if (forgives) return
  forgives = true
  for (const response of [metadataV5, metadataV6]) {
    const parse = response.parse
    response.parse = (data) =>
      parse({
        ...data,
        topicMetadata: data.topicMetadata.map((topic) => ({
          ...topic,
          partitionMetadata: topic.partitionMetadata.map((partition) =>
            PASSING.has(partition.partitionErrorCode)
              ? { ...partition, partitionErrorCode: 0, leader: NO_LEADER }
              : partition,
          ),
        })),
      })
  }
}
