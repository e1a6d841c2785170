import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { readStandaloneConfig } from '../services/standalone/config.ts'
import { EnvReader } from '../shared/config/env-reader.ts'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'
import { SERVICE_READERS } from '../tools/generate/service-readers.ts'

interface ComposeService {
  image?: string
  build?: { context: string; target: string }
  command?: string[]
  environment?: Record<string, string>
  ports?: string[]
  volumes?: string[]
  configs?: { source: string }[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test: string[] }
  restart?: string
  stop_grace_period?: string
}

interface ComposeFile {
  services: Record<string, ComposeService>
  volumes?: Record<string, object>
  configs?: Record<string, { file?: string }>
}

const FILES = ['docker-compose.yml', 'docker-compose.embedded.yml']

/** The settings that each of our services reads; `tally` is npm start. */
const READERS: Record<string, (read: EnvReader) => { admin: { port: number } }> = {
  ...SERVICE_READERS,
  migrate: readStandaloneConfig,
  tally: readStandaloneConfig,
}

/** These tests run no container. test/image/build.sh runs the images. */
describe('compose files', () => {
  const read = async (name: string): Promise<{ text: string; file: ComposeFile }> => {
    const text = await readFile(path.join(PROJECT_ROOT, name), 'utf8')
    // A value for every variable, as a file .env would give it.
    const filled = text.replaceAll(/\$\{\w+:\?[^}]*\}/g, 'secret')
    return { text, file: load(filled) as ComposeFile }
  }
  const isOurs = ({ build }: ComposeService) => build !== undefined

  it('are in the form that the Compose Specification gives', async () => {
    const schema = await readFile(path.join(PROJECT_ROOT, 'test/compose/compose-spec.json'), 'utf8')
    const validate = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).compile(
      JSON.parse(schema) as object,
    )
    for (const name of FILES) {
      const { file } = await read(name)
      validate(file)
      expect(validate.errors ?? [], name).to.deep.equal([])
    }
    validate({ services: { tally: { image: 'tally', no_such_key: 1 } } })
    expect(validate.errors).to.not.equal(null)
  })

  it('refer to nothing that is not there', async () => {
    for (const name of FILES) {
      const { services, volumes = {}, configs = {} } = (await read(name)).file
      for (const [
        service,
        { command = [], volumes: mounts = [], configs: used = [], ...rest },
      ] of Object.entries(services)) {
        expect(Object.keys(services), service).to.include.members(Object.keys(rest.depends_on ?? {}))
        for (const mount of mounts) expect(volumes, service).to.have.property(mount.split(':')[0] ?? '')
        for (const { source } of used) expect(configs, service).to.have.property(source)
        for (const { file = '.' } of Object.values(configs))
          expect(existsSync(path.join(PROJECT_ROOT, file)), file).to.equal(true)
        for (const word of command.filter((part) => part.startsWith('dist/')))
          expect(existsSync(path.join(PROJECT_ROOT, word)), word).to.equal(true)
      }
    }
  })

  it('give services of ours settings that they know, all that they need, and values that they take', async () => {
    for (const name of FILES) {
      const { services } = (await read(name)).file
      for (const [service, { environment = {} }] of Object.entries(services).filter(([, s]) => isOurs(s))) {
        const env = new EnvReader(environment)
        const readConfig = READERS[service]
        if (readConfig === undefined)
          throw new Error(`${service} is none of the services that are known here`)
        readConfig(env)
        expect(() => {
          env.done()
        }, service).to.not.throw()
        const existing = env.settings.map((setting) => setting.name)
        expect(existing, service).to.include.members(Object.keys(environment))
      }
    }
  })

  it('publish nothing beyond this machine, and keep no secret of their own', async () => {
    for (const name of FILES) {
      const { text, file } = await read(name)
      for (const [service, { ports = [] }] of Object.entries(file.services))
        for (const port of ports) expect(port, service).to.match(/^127\.0\.0\.1:\d+:\d+$/)
      expect(text).to.not.match(/\$\{\w+:-/) // a default
      for (const [, variable = ''] of text.matchAll(/PASSWORD: (.*)/g))
        expect(variable).to.match(/^\$\{\w+:\?set it\}$/)
    }
  })

  it('name images exactly, and have every engine ask for a password', async () => {
    const { services, configs = {} } = (await read('docker-compose.yml')).file
    for (const [service, { image = '' }] of Object.entries(services).filter(([, one]) => !isOurs(one)))
      expect(image, service)
        .to.match(/:\d+\.\d+(?:\.\d+)*$/)
        .and.not.match(/postgres:\d+$/)
    for (const [service, { image = '' }] of Object.entries(services).filter(([, one]) => !isOurs(one)))
      if (!image.startsWith('postgres')) expect(image, service).to.match(/:\d+\.\d+\.\d+/)
    const of = (service: string) => services[service]?.environment ?? {}
    expect(of('kafka')['KAFKA_LISTENERS']).to.match(/^CLIENT:\/\/:9092,(?:\w+:\/\/127\.0\.0\.1:\d+,?)+$/)
    expect(of('kafka')['KAFKA_LISTENER_SECURITY_PROTOCOL_MAP']).to.include('CLIENT:SASL_PLAINTEXT')
    expect(services['valkey']?.command?.at(-1)).to.include('--requirepass')
    expect(of('gateway')['REDIS_URL']).to.equal('redis://:secret@valkey:6379')
    expect(of('clickhouse')).to.not.have.any.keys('CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT', 'CLICKHOUSE_USER')
    expect(JSON.stringify(configs['clickhouse-users'])).to.not.include('<access_management>1')
    for (const service of ['gateway', 'loader', 'api', 'refill', 'rollup'])
      expect(of(service)['CLICKHOUSE_URL'], service).to.include('//tally_service:')
    expect(of('migrate')['CLICKHOUSE_URL']).to.include('//tally_owner:')
  })

  it('probe every service, unless it runs once and others wait for its end', async () => {
    for (const name of FILES) {
      const { services } = (await read(name)).file
      const awaited = Object.values(services).flatMap(({ depends_on: needs = {} }) =>
        Object.entries(needs).flatMap(([needed, { condition }]) =>
          condition === 'service_completed_successfully' ? [needed] : [],
        ),
      )
      for (const [service, { healthcheck, restart, ...rest }] of Object.entries(services)) {
        if (restart === 'no') expect(awaited, service).to.include(service)
        else expect(healthcheck?.test, service).to.be.an('array')
        if (!isOurs(rest)) continue
        expect(parseInt(rest.stop_grace_period ?? ''), `${service} has time to end`).to.be.at.least(30)
        const port = READERS[service]?.(new EnvReader({})).admin.port ?? 0
        if (healthcheck !== undefined)
          expect(healthcheck.test.at(-1), service).to.contain(`http://127.0.0.1:${port}/readyz`)
      }
      for (const { depends_on: needs = {} } of Object.values(services))
        for (const [needed, { condition }] of Object.entries(needs))
          expect(condition).to.equal(
            services[needed]?.restart === 'no' ? 'service_completed_successfully' : 'service_healthy',
          )
    }
  })
})
