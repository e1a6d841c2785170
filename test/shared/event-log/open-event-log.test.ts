import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { EnvReader } from '../../../shared/config/env-reader.ts'
import { type EventLogConfig, readEventLogConfig } from '../../../shared/event-log/config.ts'
import { type EventLog, LOADER_GROUP } from '../../../shared/event-log/event-log.ts'
import { openEventLog, prepareEventLog } from '../../../shared/event-log/open-event-log.ts'
import { findKafka } from '../../support/kafka.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

describe('which event log is in force', function () {
  this.timeout(60_000)
  let brokers: string
  const databases: TestDatabase[] = []

  before(async function () {
    brokers = await findKafka(this)
  })
  after(async () => {
    for (const database of databases) await database.close()
  })

  const install = async (): Promise<TestDatabase> => {
    const database = await createDatabase('log_in_force')
    databases.push(database)
    return database
  }
  const onPostgres = (env: Record<string, string> = {}): EventLogConfig =>
    readEventLogConfig(new EnvReader(env))
  const onKafka = (prefix: string, env: Record<string, string> = {}): EventLogConfig =>
    onPostgres({
      KAFKA_BROKERS: brokers,
      KAFKA_TOPIC_PREFIX: prefix,
      KAFKA_REPLICATION: '1',
      KAFKA_MIN_INSYNC_REPLICAS: '1',
      ...env,
    })
  const newPrefix = () => `in-force-${randomBytes(4).toString('hex')}-`
  const prepare = (config: EventLogConfig, { pool }: TestDatabase) => prepareEventLog(config, pool, testLog)
  const open = (config: EventLogConfig, { pool }: TestDatabase): Promise<EventLog> =>
    openEventLog(config, { pool, alone: false, housekeeping: false, log: testLog })
  const refusalOf = async (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'it was let through',
      (err: unknown) => String(err),
    )

  it('is told by the migration, and a process with other settings is refused', async () => {
    const here = await install()
    const prefix = newPrefix()
    expect(await refusalOf(open(onPostgres(), here))).to.match(
      /no event log is in force yet: run npm run migrate/,
    )
    await prepare(onKafka(prefix), here)
    await (await open(onKafka(prefix), here)).close()
    expect(await refusalOf(open(onPostgres(), here))).to.match(
      /the event log of this Tally is kafka\/\S+usage-events, and these settings name usage-events/,
    )
    expect(await refusalOf(prepare(onPostgres(), here))).to.match(/usage may be left in kafka\//)
    await prepare(onKafka(prefix), here)
  })

  it('changes when nothing is left in the one before, or when the settings say so', async () => {
    const here = await install()
    const prefix = newPrefix()
    await prepare(onPostgres(), here)
    const before = await open(onPostgres(), here)
    await before.append([{ partition: 0, acceptedAt: 1, value: Buffer.from('x') }])
    expect(await before.keptSince()).to.equal(0)
    expect(await refusalOf(prepare(onKafka(prefix), here))).to.match(/usage may be left in usage-events/)
    const loader = await before.join(LOADER_GROUP)
    await loader.poll({ bytesMax: 1_000, waitMs: 1_000 })
    await loader.commit([{ partition: 0, offset: 1 }])
    await loader.close()
    await before.close()
    await prepare(onKafka(prefix), here)
    const after = await open(onKafka(prefix), here)
    // This log does not contain events that were accepted before.
    expect(await after.keptSince()).to.be.greaterThan((Date.now() - 60_000) * 1_000)
    await after.close()
    await prepare(onPostgres({ EVENT_LOG_CHANGE_FROM: after.id }), here)
    await (await open(onPostgres(), here)).close()
  })

  it('is nobody else’s: a second Tally on one topic is refused', async () => {
    const [here, there] = [await install(), await install()]
    const prefix = newPrefix()
    await prepare(onKafka(prefix), here)
    expect(await refusalOf(prepare(onKafka(prefix), there))).to.match(
      /the topic \S+usage-events in Kafka is that of another Tally: set KAFKA_TOPIC_PREFIX/,
    )
    await prepare(onKafka(newPrefix()), there)
    await (await open(onKafka(prefix), here)).close()
  })
})
