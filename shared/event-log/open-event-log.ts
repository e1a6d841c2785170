import { reach } from '../errors/reach.ts'
import type { Logger } from '../logging/logger.ts'
import type { Pool } from '../postgres/pool.ts'
import { appendSettlesMs, type EventLogConfig } from './config.ts'
import { DEAD_LETTERS_TOPIC, LOADER_GROUP, USAGE_TOPIC, type EventLog } from './event-log.ts'
import { openDeadLetterTopic, type DeadLetterTopic } from './kafka/dead-letter-topic.ts'
import { openKafkaEventLog } from './kafka/kafka-event-log.ts'
import { ensureTopics } from './kafka/topics.ts'
import { openPostgresEventLog } from './postgres/postgres-event-log.ts'

export interface OpenEventLogOptions {
  /** Connections for the log on PostgreSQL, or for the leases of its readers; the caller closes it after the log. */
  pool: Pool
  /** No other process uses the log: what a crashed one left behind in it is ended. */
  alone: boolean
  /** Whether this process drops what was loaded and kept long enough: one that loads does. */
  tidies: boolean
  log: Logger
}

/**
 * Opens the log of usage events that the settings name; this file is the one place that knows which driver that is.
 *
 * @throws StartupError in one line when it is out of reach
 */
export function openEventLog(
  config: EventLogConfig,
  { pool, alone, tidies, log: parent }: OpenEventLogOptions,
): Promise<EventLog> {
  const { kafka, ...common } = { ...config, ...(tidies ? {} : { housekeepingMs: 0 }) }
  const log = parent.child({ part: 'event log' })
  if (kafka === undefined)
    return reach('the event log (DATABASE_URL)', () =>
      openPostgresEventLog({ ...common, pool, topic: USAGE_TOPIC, alone, log }),
    )
  const { topicPrefix } = kafka
  return reach('the leases of the event log (DATABASE_URL)', () =>
    openKafkaEventLog({
      ...common,
      ...kafka,
      pool,
      alone,
      log,
      topic: topicPrefix + USAGE_TOPIC,
      groupPrefix: topicPrefix,
      groups: [LOADER_GROUP],
      settleMs: appendSettlesMs(config, 0), // no statement has a part in it
    }),
  )
}

/** Makes what the log needs before it can be opened; on PostgreSQL the migrations do. */
export async function prepareEventLog({ kafka, partitions }: EventLogConfig): Promise<void> {
  if (kafka === undefined) return
  const { access, topicPrefix, replication, minInSyncReplicas } = kafka
  const plan = { partitions, replication, minInSyncReplicas }
  await ensureTopics(
    access,
    [USAGE_TOPIC, DEAD_LETTERS_TOPIC].map((topic) => ({ ...plan, topic: topicPrefix + topic })),
  )
}

/** The topic that tells of dead letters, where there is a Kafka. */
export function openDeadLetters({ kafka }: EventLogConfig, log: Logger): DeadLetterTopic | undefined {
  if (kafka === undefined) return undefined
  const { access, requestTimeoutMs, topicPrefix } = kafka
  return openDeadLetterTopic({ access, requestTimeoutMs, topic: topicPrefix + DEAD_LETTERS_TOPIC, log })
}
