import type { EventLogConfig } from '../../../shared/event-log/config.ts'
import { DEAD_LETTERS_TOPIC, USAGE_TOPIC } from '../../../shared/event-log/event-log.ts'
import {
  type ExaminedKafka,
  type ExaminedTopic,
  examineKafka,
  FETCH,
  readRequestVersions,
  type RequestVersions,
  SPOKEN,
} from '../../../shared/event-log/kafka/examine-kafka.ts'
import type { Logger } from '../../../shared/logging/logger.ts'
import { failed, type Finding, ok, runChecks, warning } from './finding.ts'

export const KAFKA = 'Kafka'
const REPLICAS_MIN = 3
const IN_SYNC_MIN = 2

/** Settings of the topic, by Kafka's names. With another value the topic would delete, merge or reorder usage. */
const HARMFUL: readonly { name: string; right: string; otherwise: string }[] = [
  { name: 'retention.ms', right: '-1', otherwise: 'deletes usage by its age, loaded or not' },
  { name: 'retention.bytes', right: '-1', otherwise: 'deletes usage by its size, loaded or not' },
  { name: 'cleanup.policy', right: 'delete', otherwise: 'compacts the topic' },
  {
    name: 'unclean.leader.election.enable',
    right: 'false',
    otherwise: 'lets a broker lead that lacks what was acknowledged',
  },
  {
    name: 'message.timestamp.type',
    right: 'LogAppendTime',
    otherwise: 'leaves the audit without the time of arrival',
  },
]

/**
 * Checks the versions of brokers, the topics, and the settings of the topics.
 * @throws Error when Kafka cannot be reached
 */
export async function checkKafka(
  { access, topicPrefix, requestTimeoutMs }: NonNullable<EventLogConfig['kafka']>,
  partitions: number,
  log: Logger,
): Promise<Finding[]> {
  const [usage, deadLetters] = [USAGE_TOPIC, DEAD_LETTERS_TOPIC].map((topic) => topicPrefix + topic)
  const topics = [usage ?? '', deadLetters ?? '']
  const examined = await examineKafka(access, topics)
  return [
    brokersFinding(examined),
    ...(await runChecks([
      {
        part: `${KAFKA} versions`,
        look: async () =>
          examined.topics[0]?.partitions.length === 0
            ? []
            : checkVersions(
                await readRequestVersions(access, { topic: topics[0] ?? '', requestTimeoutMs }, log),
              ),
      },
    ])),
    ...examined.topics.flatMap((topic) => checkTopic(topic, topic.topic === usage ? partitions : 1)),
  ]
}

function brokersFinding({ brokers, autoCreatesTopics }: ExaminedKafka): Finding {
  const says = `${brokers} ${brokers === 1 ? 'broker' : 'brokers'}`
  return autoCreatesTopics === true
    ? warning(
        KAFKA,
        `${says}; auto.create.topics.enable is on: a topic that was deleted by mistake comes back empty, without our settings`,
      )
    : ok(KAFKA, says)
}

function checkVersions(brokers: readonly ReadonlyMap<number, RequestVersions>[]): Finding[] {
  const part = `${KAFKA} versions`
  const findings: Finding[] = []
  for (const versions of brokers)
    for (const [key, { name, maxVersion }] of SPOKEN) {
      const taken = versions.get(key)
      if (taken === undefined || taken.minVersion > maxVersion)
        findings.push(
          failed(
            part,
            `a broker does not support the version of ${name} that Tally uses: use Kafka 3.9 or 4.x`,
          ),
        )
    }
  if (brokers.some((versions) => (versions.get(FETCH.key)?.maxVersion ?? 0) < FETCH.from39))
    findings.push(warning(part, 'a broker is older than 3.9, on which Tally was tested'))
  return findings.length > 0
    ? findings
    : [ok(part, '3.9 or later, with the versions of requests that Tally uses')]
}

function checkTopic({ topic, partitions, settings }: ExaminedTopic, wanted: number): Finding[] {
  const part = `topic ${topic}`
  if (partitions.length === 0) return [failed(part, 'is not there: run npm run migrate')]
  const findings: Finding[] = []
  if (partitions.length < wanted)
    findings.push(
      failed(part, `${partitions.length} partitions, EVENT_LOG_PARTITIONS is ${wanted}: run npm run migrate`),
    )
  const leaderless = partitions.filter(({ hasLeader }) => !hasLeader)
  if (leaderless.length > 0)
    findings.push(failed(part, `${leaderless.length} partitions have no leader: is a broker down?`))
  const lagging = partitions.filter(({ inSync, replicas }) => inSync < replicas)
  if (lagging.length > 0)
    findings.push(
      warning(part, `${lagging.length} partitions have replicas that are behind: is a broker down?`),
    )
  const replicas = Math.min(...partitions.map((partition) => partition.replicas))
  if (replicas < REPLICAS_MIN)
    findings.push(
      warning(
        part,
        `${replicas} ${replicas === 1 ? 'replica' : 'replicas'}: with fewer than ${REPLICAS_MIN} a lost disk loses usage`,
      ),
    )
  const inSync = Number(settings.get('min.insync.replicas') ?? '1')
  if (inSync < IN_SYNC_MIN)
    findings.push(
      warning(
        part,
        `min.insync.replicas is ${inSync}: a report may be acknowledged when only one broker has it`,
      ),
    )
  for (const { name, right, otherwise } of HARMFUL) {
    const value = settings.get(name) ?? right
    if (value !== right)
      findings.push(failed(part, `${name} is ${value}, which ${otherwise}: set it to ${right}`))
  }
  return findings.length > 0 ? findings : [ok(part, `${partitions.length} partitions, ${replicas} replicas`)]
}
