import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { EnvReader } from '../../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../../shared/event-log/config.ts'
import { LOADER_GROUP } from '../../../shared/event-log/event-log.ts'
import { openEventLog, prepareEventLog } from '../../../shared/event-log/open-event-log.ts'
import { type KafkaBroker, startKafka } from '../../support/kafka.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

describe('a Kafka with TLS, at which one signs in,', function () {
  this.timeout(90_000)
  let broker: KafkaBroker
  const databases: TestDatabase[] = []

  before(async function () {
    broker = await startKafka(this)
  })
  after(async () => {
    for (const database of databases) await database.close()
    await (broker as KafkaBroker | undefined)?.stop()
  })

  const settingsFor = (mechanism: string): Record<string, string> => ({
    KAFKA_BROKERS: broker.secured.brokers,
    KAFKA_TOPIC_PREFIX: `secured-${randomBytes(4).toString('hex')}-`,
    KAFKA_REPLICATION: '1',
    KAFKA_MIN_INSYNC_REPLICAS: '1',
    KAFKA_TLS: 'on',
    KAFKA_CA_FILE: broker.secured.caFile,
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: broker.secured.username,
    KAFKA_SASL_PASSWORD: broker.secured.password,
  })
  const configOf = (env: Record<string, string>) => {
    const read = new EnvReader(env)
    const config = readEventLogConfig(read)
    read.done()
    return config
  }
  const install = async (): Promise<TestDatabase> => {
    const database = await createDatabase('secured_kafka')
    databases.push(database)
    return database
  }

  for (const mechanism of ['plain', 'scram-sha-256', 'scram-sha-512'])
    it(`holds an event log for who signs in by ${mechanism}`, async () => {
      const config = configOf(settingsFor(mechanism))
      const { pool } = await install()
      await prepareEventLog(config, pool, testLog)
      const log = await openEventLog(config, { pool, alone: false, housekeeping: false, log: testLog })
      try {
        await log.append([{ partition: 0, acceptedAt: 1, value: Buffer.from('one') }])
        const loader = await log.join(LOADER_GROUP)
        const [record] = await loader.poll({ bytesMax: 1_000, waitMs: 10_000 })
        expect(record?.value.toString()).to.equal('one')
        await loader.commit([{ partition: 0, offset: (record?.offset ?? 0) + 1 }])
        await loader.close()
      } finally {
        await log.close()
      }
    })

  for (const [what, changed, reason] of [
    ['another password', { KAFKA_SASL_PASSWORD: 'another-secret' }, /authentication|SASL/i],
    ['no TLS', { KAFKA_TLS: 'off', KAFKA_CA_FILE: '' }, /./],
    ['a certificate that is not trusted', { KAFKA_CA_FILE: '' }, /certificate/i],
    ['no name', { KAFKA_SASL_MECHANISM: 'none' }, /./],
  ] as const)
    it(`is not reached with ${what}, and the password is told to nobody`, async () => {
      const config = configOf({ ...settingsFor('scram-sha-256'), ...changed })
      const { pool } = await install()
      const told = await prepareEventLog(config, pool, testLog).then(
        () => 'it was let through',
        (err: unknown) => whole(err),
      )
      expect(told).to.match(reason).and.not.to.contain('it was let through')
      for (const secret of [broker.secured.password, 'another-secret']) expect(told).not.to.contain(secret)
    })
})

/** The text of an error with its causes, as in the log. */
const whole = (err: unknown): string =>
  err instanceof Error ? `${err.stack ?? err.message} ${whole(err.cause)}` : String(err)
