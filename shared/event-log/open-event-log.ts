import { hash } from 'node:crypto'
import { reach } from '../errors/reach.ts'
import { StartupError } from '../errors/startup-error.ts'
import type { Logger } from '../logging/logger.ts'
import type { Pool } from '../postgres/core/pool.ts'
import { eventLogRepository } from '../postgres/event-logs.ts'
import { installationSecret } from '../postgres/installation-secrets.ts'
import { appendSettlesMs, type EventLogConfig } from './config.ts'
import { DEAD_LETTERS_TOPIC, type EventLog, LOADER_GROUP, USAGE_TOPIC } from './event-log.ts'
import { type DeadLetterTopic, openDeadLetterTopic } from './kafka/dead-letter-topic.ts'
import { openKafkaEventLog } from './kafka/kafka-event-log.ts'
import { ensureTopics } from './kafka/topics.ts'
import { openPostgresEventLog, readLag } from './postgres/postgres-event-log.ts'

export interface OpenEventLogOptions {
  /** Connections for the log on PostgreSQL, or for its readers' leases. The caller closes the pool after the log. */
  pool: Pool
  /** Whether no other process uses the log. Then memberships that a crashed process left in the log are ended. */
  alone: boolean
  /** Whether this process drops records that were loaded and kept long enough. Processes with a loader do this. */
  housekeeping: boolean
  log: Logger
}

/**
 * Opens the log of usage events that the settings name. Only this file opens a driver of the log.
 *
 * @throws StartupError when the log cannot be reached, or is not the log in use
 */
export async function openEventLog(config: EventLogConfig, options: OpenEventLogOptions): Promise<EventLog> {
  const log = await open(config, options, false)
  const inForce = await eventLogRepository(options.pool).findInForce()
  if (inForce?.id !== log.id) {
    await log.close()
    throw new StartupError(
      inForce === undefined
        ? 'no event log is in force yet: run npm run migrate'
        : `the event log of this Tally is ${inForce.id}, and these settings name ${log.id}: set KAFKA_BROKERS and KAFKA_TOPIC_PREFIX as they were, or change the log as docs/event-log.md says`,
    )
  }
  // Events that were accepted before `inForce.since` are in another log.
  return { ...log, keptSince: async () => Math.max(inForce.since, await log.keptSince()) }
}

/**
 * Makes the topics that the log needs, and puts the log in use. It is the first log, or it replaces a log whose records
 * are all loaded.
 *
 * @throws StartupError when records of the log in use may not be loaded, and EVENT_LOG_CHANGE_FROM does not name it
 */
export async function prepareEventLog(config: EventLogConfig, pool: Pool, log: Logger): Promise<void> {
  const { kafka, partitions, changeFrom } = config
  if (kafka !== undefined) {
    const { access, topicPrefix, replication, minInSyncReplicas } = kafka
    const plan = { partitions, replication, minInSyncReplicas }
    await ensureTopics(
      access,
      [USAGE_TOPIC, DEAD_LETTERS_TOPIC].map((topic) => ({ ...plan, topic: topicPrefix + topic })),
    )
  }
  const opened = await open(config, { pool, alone: false, housekeeping: false, log }, true)
  await opened.close()
  const logs = eventLogRepository(pool)
  const inForce = await logs.findInForce()
  if (inForce?.id === opened.id) return
  if (inForce !== undefined && changeFrom !== inForce.id && !(await isDrained(inForce.id, pool)))
    throw new StartupError(
      `usage may be left in ${inForce.id}, the event log in use, and these settings name ${opened.id}: docs/event-log.md says how to change the log`,
    )
  await logs.enter(opened.id)
  if (inForce !== undefined) log.warn({ from: inForce.id, to: opened.id }, 'switched to another event log')
}

/**
 * Whether all records of a log on PostgreSQL are loaded. False for a log on Kafka that the settings do not name,
 * because Tally cannot read it.
 */
async function isDrained(logId: string, pool: Pool): Promise<boolean> {
  if (logId !== USAGE_TOPIC) return false
  return (await readLag(pool, logId, LOADER_GROUP)).every(({ committed, end }) => committed === end)
}

async function open(
  config: EventLogConfig,
  { pool, alone, housekeeping, log: parent }: OpenEventLogOptions,
  claims: boolean,
): Promise<EventLog> {
  const { kafka, ...common } = { ...config, ...(housekeeping ? {} : { housekeepingMs: 0 }) }
  const log = parent.child({ part: 'event log' })
  if (kafka === undefined)
    return reach('the event log (DATABASE_URL)', () =>
      openPostgresEventLog({ ...common, pool, topic: USAGE_TOPIC, alone, log }),
    )
  const { topicPrefix } = kafka
  return reach('the leases of the event log (DATABASE_URL)', async () =>
    openKafkaEventLog({
      ...common,
      ...kafka,
      pool,
      alone,
      log,
      topic: topicPrefix + USAGE_TOPIC,
      groupPrefix: topicPrefix,
      groups: [LOADER_GROUP],
      owner: await installationName(pool),
      claims,
      settleMs: appendSettlesMs(config, 0), // an append on Kafka runs no statement in PostgreSQL
    }),
  )
}

/** A name that is different for each installation, and reveals nothing of its secret. */
const installationName = async (pool: Pool): Promise<string> =>
  hash('sha256', await installationSecret(pool, NAME_SECRET), 'hex').slice(0, NAME_DIGITS)

/**
 * The name of the secret's row. It must not change: under another name, an installation would not recognize its own
 * topic.
 */
const NAME_SECRET = 'names this installation'
const NAME_DIGITS = 16

/** Opens the topic with notices of dead letters; undefined without Kafka. */
export function openDeadLetters({ kafka }: EventLogConfig, log: Logger): DeadLetterTopic | undefined {
  if (kafka === undefined) return undefined
  const { access, requestTimeoutMs, topicPrefix } = kafka
  return openDeadLetterTopic({ access, requestTimeoutMs, topic: topicPrefix + DEAD_LETTERS_TOPIC, log })
}
