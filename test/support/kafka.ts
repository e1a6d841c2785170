import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import path from 'node:path'
import type { Context } from 'mocha'
import { askRun } from '../run/ask-run.ts'
import { skipFor } from '../run/pending.ts'
import { endChild } from './end-child.ts'
import { endWithUs } from './end-with-us.ts'
import { standStill } from './stand-still.ts'
import { makeTempFolder } from './temp-folder.ts'

/** A real broker of Apache Kafka. */
export interface KafkaBroker {
  /** Its address, in the form of KAFKA_BROKERS. */
  brokers: string
  /** The listener with TLS and authentication. */
  secured: SecuredListener
  pid: () => number
  kill9(): Promise<void>
  /** Sends SIGSTOP; `resume` ends the pause. */
  pause(): Promise<void>
  resume(): void
  /** Starts the broker again after kill9, on the same data and port; resolves when it serves. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** A listener with TLS, and with all SASL mechanisms that Tally supports. */
interface SecuredListener {
  brokers: string
  username: string
  password: string
  /** The certificate to trust, in PEM; no authority signed it. */
  caFile: string
}

const KAFKA_VERSION = '4.3.1'
const CLUSTER_ID = 'MkU3OEVBNTcwNTJENDM2Qg'
const START_MS = 60_000
/** Below the range of ephemeral ports, so that the port is still free when the broker restarts. */
const FIRST_PORT = 21_000
const PORTS = 8_000

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>tally</groupId><artifactId>kafka-broker</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${KAFKA_VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`

const started = new Set<KafkaBroker>()

/**
 * Finds the broker of this test run: that of KAFKA_BROKERS, or one that the run starts. If there is neither, the suite
 * is pending, with the reason; with REQUIRE_KAFKA=1 it fails.
 *
 * @returns its address, as KAFKA_BROKERS has it
 */
export const findKafka = (suite: Context): Promise<string> => orPending(suite, requireKafka())

/** Finds the broker of this test run. @throws Error when there is none */
export async function requireKafka(): Promise<string> {
  const given = process.env['KAFKA_BROKERS']
  if (given !== undefined && given !== '') return given
  return (await askRun('kafka')).brokers
}

/**
 * Starts a broker for one test file, which may kill it, from the jars of Maven Central. Without a broker the suite is
 * pending, as with findKafka. The file must stop the broker.
 */
export const startKafka = (suite: Context): Promise<KafkaBroker> => orPending(suite, startBroker())

async function orPending<T>(suite: Context, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (err) {
    if (process.env['REQUIRE_KAFKA'] === '1') throw err
    const reason = err instanceof Error ? err.message : String(err)
    return skipFor(suite, `KAFKA_BROKERS is not set, and there are no Java 17 and Maven (${reason})`)
  }
}

/** Ends every broker that a failed test left running. */
export async function stopLeftBrokers(): Promise<void> {
  await Promise.all([...started].map((broker) => broker.stop()))
}

/** Fetches Kafka's jars, once for this user. @returns the folder */
async function fetchJars(): Promise<string> {
  const tools = path.join(homedir(), '.cache', 'tally-tools')
  const jars = path.join(tools, `kafka-jars-${KAFKA_VERSION}`)
  if (existsSync(jars)) return jars
  await mkdir(tools, { recursive: true })
  // The jars go to a temporary folder first, because an interrupted run must not leave only some of them.
  const work = await mkdtemp(path.join(tools, 'kafka-'))
  try {
    await writeFile(path.join(work, 'pom.xml'), POM)
    await run(
      'mvn',
      ['-B', '-q', 'dependency:copy-dependencies', '-DincludeScope=runtime', '-DoutputDirectory=libs'],
      work,
    )
    await rename(path.join(work, 'libs'), jars).catch((err: unknown) => {
      if (!existsSync(jars)) throw err // another run has fetched them
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  return jars
}

/** Starts a separate broker. @throws Error with the reason when there can be none */
export async function startBroker(): Promise<KafkaBroker> {
  const jars = await fetchJars()
  const folder = await makeTempFolder('kafka')
  const [port, securedPort, controllerPort] = [await findPort(), await findPort(), await findPort()]
  await writeFile(path.join(folder, 'server.properties'), properties(port, securedPort, controllerPort))
  await makeCertificate(folder)
  const classPath = `${jars}/*`
  await run(
    'java',
    [
      ...['-cp', classPath, 'kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', 'server.properties'],
      ...['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
        '--add-scram',
        `${mechanism}=[name=${USERNAME},password=${PASSWORD}]`,
      ]),
    ],
    folder,
  )
  let child = await launch(folder, classPath)
  const broker: KafkaBroker = {
    brokers: `127.0.0.1:${port}`,
    secured: {
      brokers: `127.0.0.1:${securedPort}`,
      username: USERNAME,
      password: PASSWORD,
      caFile: path.join(folder, CA_FILE),
    },
    pid: () => child.pid ?? 0,
    async kill9() {
      await endChild(child, 'SIGKILL')
    },
    pause: () => standStill(child),
    resume: () => child.kill('SIGCONT'),
    async restart() {
      child = await launch(folder, classPath)
    },
    async stop() {
      started.delete(broker)
      child.kill('SIGCONT')
      await endChild(child, 'SIGTERM')
      await rm(folder, { recursive: true, force: true })
    },
  }
  started.add(broker)
  return broker
}

async function launch(folder: string, classPath: string): Promise<ChildProcess> {
  const child = spawn(
    'java',
    [
      ...['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'],
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
      '-Dorg.slf4j.simpleLogger.log.kafka.server=info',
      ...['-cp', classPath, 'kafka.Kafka', 'server.properties'],
    ],
    { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  endWithUs(child)
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const fail = (why: string) => {
      child.kill('SIGKILL')
      reject(new Error(`the broker ${why}: ${output.slice(-2_000)}`))
    }
    const timer = setTimeout(() => {
      fail('did not start in time')
    }, START_MS)
    const listen = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-100_000)
      // An open port is not enough: shortly after kill -9, the port of the dying broker still accepts connections.
      if (!output.includes('Kafka Server started')) return
      clearTimeout(timer)
      resolve()
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.once('error', reject)
    child.once('exit', () => {
      clearTimeout(timer)
      fail('ended')
    })
  })
  return child
}

const USERNAME = 'tally'
const PASSWORD = 'a-secret-of-the-broker'
const KEY_STORE = 'broker.p12'
const CA_FILE = 'broker.pem'

/** Makes the broker's certificate with the tool of the Java installation. */
async function makeCertificate(folder: string): Promise<void> {
  const store = ['-keystore', KEY_STORE, '-storetype', 'PKCS12', '-storepass', PASSWORD, '-alias', 'broker']
  const who = ['-dname', 'CN=broker', '-ext', 'san=ip:127.0.0.1', '-keyalg', 'EC', '-validity', '2']
  await run('keytool', ['-genkeypair', ...store, ...who], folder)
  await run('keytool', ['-exportcert', '-rfc', ...store, '-file', CA_FILE], folder)
}

const properties = (port: number, securedPort: number, controllerPort: number): string => `
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controllerPort}
listeners=PLAINTEXT://127.0.0.1:${port},SASL_SSL://127.0.0.1:${securedPort},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=PLAINTEXT://127.0.0.1:${port},SASL_SSL://127.0.0.1:${securedPort}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
ssl.keystore.location=${KEY_STORE}
ssl.keystore.type=PKCS12
ssl.keystore.password=${PASSWORD}
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_${USERNAME}="${PASSWORD}";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=./data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
`

async function findPort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS)
    const server = createServer().listen(port, '127.0.0.1')
    const free = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ]).catch(() => false)
    server.close()
    if (free) return port
  }
  throw new Error('no port is free')
}

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${program} failed: ${output.slice(-1_000)}`)
}
