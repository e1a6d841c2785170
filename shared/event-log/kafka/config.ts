import { readFileSync } from 'node:fs'
import type { KafkaConfig, SASLOptions } from 'kafkajs'
import type { EnvReader } from '../../config/env-reader.ts'
import type { KafkaAccess } from './kafka-connection.ts'

const SASL_MECHANISMS = ['none', 'plain', 'scram-sha-256', 'scram-sha-512'] as const

/** Reads the settings of Kafka; undefined when the event log is a table in PostgreSQL. */
export function readKafkaConfig(read: EnvReader) {
  const list = read.optional('KAFKA_BROKERS', {
    about:
      'brokers of Apache Kafka 3.9 or later, as host:port, separated by commas; unset: the event log is a table in PostgreSQL',
  })
  const brokers = (list ?? '').split(',').map((broker) => broker.trim())
  if (list !== undefined && !brokers.every((broker) => /^[^\s:/]+:\d{1,5}$/.test(broker)))
    read.refuse('KAFKA_BROKERS must be a list of host:port with commas between')
  const access: KafkaAccess = { brokers, ...readSecurity(read) }
  const settings = {
    access,
    topicPrefix: read.string('KAFKA_TOPIC_PREFIX', {
      about:
        'a prefix for the names of topics and of the consumer group, for several installations on one Kafka',
      default: '',
    }),
    /**
     * A request to a broker fails if it is not answered within this time. The time is shorter than a report's deadline.
     */
    requestTimeoutMs: read.tuning('KAFKA_REQUEST_TIMEOUT_MS', {
      default: 3_000,
      min: 500,
      max: 60_000,
    }),
    replication: read.integer('KAFKA_REPLICATION', {
      about:
        'the number of replicas of the topics that npm run migrate makes; with fewer than 3, a lost disk loses usage',
      default: 3,
      min: 1,
      max: 10,
    }),
    minInSyncReplicas: read.integer('KAFKA_MIN_INSYNC_REPLICAS', {
      about:
        'how many replicas must have a record before it is durable, in the topics that npm run migrate makes',
      default: 2,
      min: 1,
      max: 10,
    }),
  }
  if (!/^[A-Za-z0-9._-]{0,100}$/.test(settings.topicPrefix))
    read.refuse('KAFKA_TOPIC_PREFIX may have letters, digits, dots, dashes and underscores, 100 at most')
  if (list !== undefined && settings.minInSyncReplicas > settings.replication)
    read.refuse('KAFKA_MIN_INSYNC_REPLICAS must not be more than KAFKA_REPLICATION')
  return list === undefined ? undefined : settings
}

function readSecurity(read: EnvReader): Pick<KafkaAccess, 'ssl' | 'sasl'> {
  const ssl = readTls(read)
  const sasl = readSasl(read)
  const openly = read.oneOf('KAFKA_SASL_PLAIN_WITHOUT_TLS', ['refused', 'allowed'], {
    about:
      'whether the mechanism plain may send its password without TLS; allow this only on a private network',
    default: 'refused',
  })
  if (sasl?.mechanism === 'plain' && ssl === false && openly === 'refused')
    read.refuse(
      'KAFKA_SASL_MECHANISM=plain sends the password as it is: set KAFKA_TLS=on, or a mechanism of SCRAM',
    )
  return { ssl, sasl }
}

function readTls(read: EnvReader): KafkaAccess['ssl'] {
  const tls = read.oneOf('KAFKA_TLS', ['off', 'on'], {
    about: 'whether brokers are reached over TLS',
    default: 'off',
  })
  const caFile = read.optional('KAFKA_CA_FILE', {
    about:
      'a PEM file with the certificates by which brokers are trusted; unset: the certificates of the system',
  })
  if (tls === 'off' && caFile !== undefined)
    read.refuse('KAFKA_CA_FILE is for TLS: set KAFKA_TLS=on, or leave it out')
  if (tls === 'off' || caFile === undefined) return tls === 'on'
  try {
    return { ca: readFileSync(caFile, 'utf8') }
  } catch (err) {
    read.refuse(`KAFKA_CA_FILE cannot be read: ${err instanceof Error ? err.message : String(err)}`)
    return true
  }
}

function readSasl(read: EnvReader): KafkaConfig['sasl'] {
  const mechanism = read.oneOf('KAFKA_SASL_MECHANISM', SASL_MECHANISMS, {
    about: 'how Tally signs in at the brokers',
    default: 'none',
  })
  const username = read.optional('KAFKA_SASL_USERNAME', { about: 'the user name for the brokers' })
  const password = read.optional('KAFKA_SASL_PASSWORD', {
    about: 'the password for the brokers',
    secret: true,
  })
  if (mechanism === 'none') return undefined
  if (username === undefined || password === undefined)
    read.refuse('KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD are needed with KAFKA_SASL_MECHANISM')
  return { mechanism, username: username ?? '', password: password ?? '' } as SASLOptions
}
