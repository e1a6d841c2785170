import { expect } from 'chai'
import { EnvReader } from '../../../shared/config/env-reader.ts'
import { readKafkaConfig } from '../../../shared/event-log/kafka/config.ts'

const PLAIN = {
  KAFKA_BROKERS: 'kafka:9092',
  KAFKA_SASL_MECHANISM: 'plain',
  KAFKA_SASL_USERNAME: 'tally',
  KAFKA_SASL_PASSWORD: 'secret',
}

describe('settings of Kafka', () => {
  const readAll = (env: Record<string, string>) => {
    const read = new EnvReader(env)
    const config = readKafkaConfig(read)
    read.done()
    return config?.access
  }

  it('send no password openly unless that is asked for', () => {
    expect(() => readAll(PLAIN)).to.throw('KAFKA_SASL_MECHANISM=plain sends the password as it is')
    expect(readAll({ ...PLAIN, KAFKA_TLS: 'on' })).to.include({ ssl: true })
    expect(readAll({ ...PLAIN, KAFKA_SASL_PLAIN_WITHOUT_TLS: 'allowed' })).to.include({ ssl: false })
    expect(readAll({ ...PLAIN, KAFKA_SASL_MECHANISM: 'scram-sha-512' })).to.include({ ssl: false })
  })

  it('take no certificates for connections without TLS', () => {
    expect(() => readAll({ KAFKA_BROKERS: 'kafka:9092', KAFKA_CA_FILE: '/ca.pem' })).to.throw(
      'KAFKA_CA_FILE is for TLS',
    )
  })
})
