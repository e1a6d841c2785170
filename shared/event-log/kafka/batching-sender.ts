import { setTimeout as sleep } from 'node:timers/promises'
import type Cluster from 'kafkajs/src/cluster/index.js'
import type { ProducedMessage } from 'kafkajs/src/cluster/index.js'
import { DomainError } from '../../errors/domain-error.ts'
import type { Logger } from '../../logging/logger.ts'
import type { NewRecord } from '../event-log.ts'
import { isRefusal } from './broker-error.ts'
import { ALL_IN_SYNC_REPLICAS } from './durability.ts'
import { groupLimitMs } from './group-limit.ts'
import { type KafkaConnection, NO_LEADER, partitionsByLeader } from './kafka-connection.ts'
import { MESSAGE_OVERHEAD_BYTES, messageFromRecord } from './record-message.ts'

export interface BatchingSenderOptions {
  connection: KafkaConnection
  topic: string
  log: Logger
  /** The longest time until a caller gets an answer. */
  deadlineMs: number
  /** The longest time of one request to a broker. */
  requestTimeoutMs: number
  /** The maximum number of callers that may wait. Further appends are refused at once. */
  waitingMax: number
  /** The maximum number of bytes that may wait. */
  waitingBytesMax: number
}

/** Records of one partition that go into the same batch. */
interface Parcel {
  partition: number
  messages: ProducedMessage[]
  bytes: number
  deadline: number
  /** Whether a broker may have got the records. */
  sent: boolean
  /** Whether the caller has its answer. */
  done: boolean
  settle: (err?: unknown) => void
}

/** Kafka accepts 1,048,588 bytes in one batch by default; the header of a batch takes 61. */
const BATCH_BYTES_MAX = 1_040_000
const GROUP_BYTES_MAX = 8_000_000
const GROUP_PARCELS_MAX = 2_000
/** While one group waits for the answers of brokers, the next group is sent. */
const GROUPS_AT_ONCE = 2
/** The wait when a partition has no leader. */
const NO_LEADER_MS = 100
const BACK_OFF_MS = { first: 50, longest: 1_000 }

/**
 * Lets appends that arrive together share one request to each broker. There is no timer: a lone append is sent at once,
 * and appends that arrive while two groups are under way form the next group.
 *
 * A group that fails is sent again until its callers' deadline, always with all records for a broker together. Then
 * records may be in the log twice. This changes nothing, because rows of one usage event collapse.
 */
export class BatchingSender {
  private readonly options: BatchingSenderOptions
  private waiting: Parcel[] = []
  private callers = 0
  private bytes = 0
  private underWay = 0
  private failures = 0
  private idle: (() => void)[] = []

  constructor(options: BatchingSenderOptions) {
    this.options = options
  }

  /** @throws DomainError overloaded when nothing was sent, unavailable when the records may or may not be in the log */
  async append(records: readonly NewRecord[]): Promise<void> {
    if (records.length === 0) return
    const { waitingMax, waitingBytesMax, deadlineMs } = this.options
    if (this.callers >= waitingMax || this.bytes >= waitingBytesMax)
      throw new DomainError('overloaded', 'the event log is overloaded, try again')
    const deadline = performance.now() + deadlineMs
    const bytes = records.reduce((sum, { value }) => sum + value.length, 0)
    this.callers++
    this.bytes += bytes
    try {
      const [only] = records
      if (records.length === 1 && only !== undefined) await this.send(only.partition, [only], deadline)
      else await this.sendAll(records, deadline)
    } finally {
      this.callers--
      this.bytes -= bytes
      this.wakeIdle()
    }
  }

  /** Waits until everything under way is written or has failed. */
  async drain(): Promise<void> {
    while (this.callers > 0)
      await new Promise<void>((resolve) => {
        this.idle.push(resolve)
      })
  }

  private async sendAll(records: readonly NewRecord[], deadline: number): Promise<void> {
    const byPartition = groupByPartition(records)
    const outcomes = await Promise.allSettled(
      [...byPartition].map(([partition, own]) => this.sendInOrder(partition, own, deadline)),
    )
    const faults = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as Error] : [],
    )
    const [first] = faults
    if (first === undefined) return
    const unknown = faults.find((err) => !isOverloaded(err))
    if (unknown !== undefined) throw unknown
    // The records of these partitions were not sent, but records of other partitions are in the log.
    throw faults.length < outcomes.length ? tooLate('unavailable') : first
  }

  /** Sends batches of one partition one after the other, so that none overtakes another when it is sent again. */
  private async sendInOrder(
    partition: number,
    records: readonly NewRecord[],
    deadline: number,
  ): Promise<void> {
    let first = 0
    while (first < records.length) {
      let end = first
      let bytes = 0
      for (let next = records[end]; next !== undefined; next = records[++end]) {
        bytes += next.value.length + MESSAGE_OVERHEAD_BYTES
        if (end > first && bytes > BATCH_BYTES_MAX) break
      }
      try {
        await this.send(partition, records.slice(first, end), deadline)
      } catch (err) {
        if (first > 0 && isOverloaded(err)) throw tooLate('unavailable')
        throw err
      }
      first = end
    }
  }

  private send(partition: number, records: readonly NewRecord[], deadline: number): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const parcel: Parcel = {
        partition,
        messages: records.map(messageFromRecord),
        bytes: records.reduce((sum, { value }) => sum + value.length + MESSAGE_OVERHEAD_BYTES, 0),
        deadline,
        sent: false,
        done: false,
        settle: (err) => {
          parcel.done = true
          clearTimeout(timer)
          if (err === undefined) resolve()
          else if (err instanceof DomainError) reject(err)
          else
            reject(
              new DomainError('unavailable', 'the event log did not take the records, try again', {
                cause: err,
              }),
            )
        },
      }
      const timer = setTimeout(() => {
        if (!parcel.sent) this.waiting = this.waiting.filter((other) => other !== parcel)
        parcel.settle(tooLate(parcel.sent ? 'unavailable' : 'overloaded'))
      }, deadline - performance.now())
      this.waiting.push(parcel)
      this.pump()
    })
  }

  private wakeIdle(): void {
    if (this.callers === 0) for (const resolve of this.idle.splice(0)) resolve()
  }

  private pump(): void {
    while (this.underWay < GROUPS_AT_ONCE && this.waiting.length > 0) {
      this.underWay++
      void this.sendGroup(this.takeGroup()).finally(() => {
        this.underWay--
        this.pump()
      })
    }
  }

  private takeGroup(): Parcel[] {
    const group: Parcel[] = []
    const left: Parcel[] = []
    const full = new Set<number>()
    const bytesOf = new Map<number, number>()
    let bytes = 0
    for (const parcel of this.waiting) {
      if (parcel.done) continue
      const inBatch = (bytesOf.get(parcel.partition) ?? 0) + parcel.bytes
      const fits =
        group.length < GROUP_PARCELS_MAX &&
        bytes + parcel.bytes <= GROUP_BYTES_MAX &&
        inBatch <= BATCH_BYTES_MAX
      // No parcel of the same partition overtakes a parcel that did not fit. That parcel goes first in the next group.
      if (!full.has(parcel.partition) && (fits || !bytesOf.has(parcel.partition))) {
        group.push(parcel)
        bytes += parcel.bytes
        bytesOf.set(parcel.partition, inBatch)
      } else {
        full.add(parcel.partition)
        left.push(parcel)
      }
    }
    this.waiting = left
    return group
  }

  private async sendGroup(group: readonly Parcel[]): Promise<void> {
    const { connection, topic, log, requestTimeoutMs } = this.options
    try {
      const leaderless = await connection.use(
        (cluster) => this.produceAll(cluster, group),
        groupLimitMs(requestTimeoutMs),
      )
      if (this.failures > 0) log.info({ topic }, 'Kafka takes records again')
      this.failures = 0
      if (leaderless.length > 0) await this.waitForLeaders(leaderless)
    } catch (err) {
      this.failures++
      const left = group.filter(({ done }) => !done)
      log[this.failures === 1 ? 'warn' : 'debug'](
        { err, topic, parcels: left.length },
        'Kafka did not take records',
      )
      if (isRefusal(err)) for (const parcel of left) parcel.settle(err)
      else this.waiting = [...left, ...this.waiting]
      await sleep(Math.min(BACK_OFF_MS.longest, BACK_OFF_MS.first * 2 ** Math.min(this.failures - 1, 5)))
    }
  }

  private async waitForLeaders(leaderless: readonly Parcel[]): Promise<void> {
    this.waiting = [...leaderless.filter(({ done }) => !done), ...this.waiting]
    this.options.connection.refreshSoon()
    await sleep(NO_LEADER_MS)
  }

  /**
   * Sends each broker its records, and waits for all brokers, so that a failure of one does not interrupt another.
   *
   * @returns the parcels of partitions that have no leader now
   */
  private async produceAll(cluster: Cluster, group: readonly Parcel[]): Promise<Parcel[]> {
    const byPartition = groupByPartition(group)
    const byLeader = partitionsByLeader(cluster, this.options.topic, byPartition.keys())
    const leaderless = byLeader.get(NO_LEADER) ?? []
    byLeader.delete(NO_LEADER)
    const outcomes = await Promise.allSettled(
      [...byLeader].map(([leader, partitions]) =>
        this.produce(
          cluster,
          leader,
          new Map(partitions.map((partition) => [partition, byPartition.get(partition) ?? []])),
        ),
      ),
    )
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    return leaderless.flatMap((partition) => byPartition.get(partition) ?? [])
  }

  private async produce(
    cluster: Cluster,
    leader: number,
    byPartition: ReadonlyMap<number, Parcel[]>,
  ): Promise<void> {
    const { topic, requestTimeoutMs } = this.options
    const broker = await cluster.findBroker({ nodeId: leader })
    // Connecting may have taken a long time. Records of callers that got `overloaded` in the meantime must not be sent.
    const sending = new Map(
      [...byPartition].map(([partition, parcels]) => [partition, parcels.filter(({ done }) => !done)]),
    )
    for (const parcel of [...sending.values()].flat()) parcel.sent = true
    const partitions = [...sending]
      .filter(([, parcels]) => parcels.length > 0)
      .map(([partition, parcels]) => ({ partition, messages: parcels.flatMap(({ messages }) => messages) }))
    if (partitions.length === 0) return
    await broker.produce({
      topicData: [{ topic, partitions }],
      acks: ALL_IN_SYNC_REPLICAS,
      timeout: requestTimeoutMs,
    })
    for (const parcel of [...sending.values()].flat()) parcel.settle()
  }
}

const tooLate = (code: 'overloaded' | 'unavailable'): DomainError =>
  new DomainError(code, 'the event log did not confirm in time, try again')

const isOverloaded = (err: unknown): boolean => err instanceof DomainError && err.code === 'overloaded'

function groupByPartition<T extends { partition: number }>(items: readonly T[]): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const item of items) {
    const group = groups.get(item.partition)
    if (group === undefined) groups.set(item.partition, [item])
    else group.push(item)
  }
  return groups
}
