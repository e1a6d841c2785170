import type { Closeable } from '../../lifecycle/close-all.ts'
import type { Logger } from '../../logging/logger.ts'
import { isBrokerError } from './broker-error.ts'
import { ALL_IN_SYNC_REPLICAS } from './durability.ts'
import { type KafkaAccess, KafkaConnection, NO_LEADER, partitionsByLeader } from './kafka-connection.ts'

/** A line of the log that could not be counted. */
interface DeadLetterNotice {
  partition: number
  offset: number
  line: number
  reason: string
  value: Buffer
}

export interface DeadLetterTopic extends Closeable {
  /** Sends consumers a notice of a dead letter. If a batch is loaded again, the notice may be sent twice. */
  publish(letter: DeadLetterNotice): Promise<void>
}

export interface DeadLetterTopicOptions {
  access: KafkaAccess
  topic: string
  requestTimeoutMs: number
  log: Logger
}

/** The maximum length of a reason in a header. A reason may be long, because it may quote the line. */
const REASON_MAX = 1_000

/**
 * The topic with notices of dead letters; the dead letters themselves are in PostgreSQL. The value of a notice is the
 * line's bytes. The headers give the line's position and the reason why it cannot be counted.
 */
export function openDeadLetterTopic({
  topic,
  access,
  requestTimeoutMs,
  log,
}: DeadLetterTopicOptions): DeadLetterTopic {
  const connection = new KafkaConnection(topic, { ...access, requestTimeoutMs, log })
  return {
    name: 'dead letter topic',
    async publish({ partition: from, offset, line, reason, value }) {
      const headers = {
        reason: reason.slice(0, REASON_MAX),
        partition: String(from),
        offset: String(offset),
        line: String(line),
      }
      const produce = connection.usePersistently(async (cluster) => {
        const partition = from % cluster.findTopicPartitionMetadata(topic).length
        const [[leader = NO_LEADER] = []] = partitionsByLeader(cluster, topic, [partition])
        const broker = await cluster.findBroker({ nodeId: leader })
        await broker.produce({
          topicData: [{ topic, partitions: [{ partition, messages: [{ key: null, value, headers }] }] }],
          acks: ALL_IN_SYNC_REPLICAS,
          timeout: requestTimeoutMs,
        })
      }, requestTimeoutMs)
      await produce.catch((err: unknown) => {
        // With its headers, a line may be too large for the topic. The error is ignored, because the dead letter is in
        // PostgreSQL, and loading must continue.
        if (!isBrokerError(err) || err.type !== 'MESSAGE_TOO_LARGE') throw err
        log.error({ topic, partition: from, offset, line }, 'a dead letter is too large for its topic')
      })
    },
    close: () => connection.close(),
  }
}
