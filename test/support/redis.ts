import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { Redis } from 'ioredis'
import type { RedisConfig } from '../../shared/redis/config.ts'
import { skipFor } from '../run/pending.ts'
import { findFreePort } from './free-port.ts'
import { standStill } from './stand-still.ts'
import { makeTempFolder } from './temp-folder.ts'
import { until } from './until.ts'

/** A Redis for one test file. */
export interface TestRedis {
  url: string
  /** The settings of a process, with a prefix for this file only. */
  config: RedisConfig & { url: string }
  /** The settings as environment variables. */
  env: Record<string, string>
  /** A client to read and change the data in Redis. */
  client: Redis
  close(): Promise<void>
}

/** A separate Redis server, which a test can stop. */
export interface OwnRedis extends TestRedis {
  /** Stops the process with SIGSTOP until it is resumed. */
  pause(): Promise<void>
  goOn(): void
  /** Kills it with kill -9, and waits for its end. */
  kill(): Promise<void>
  /** Starts it again on the same port, without data. */
  start(): Promise<void>
}

const opened: TestRedis[] = []

/** Closes the Redis of a suite; does nothing when the suite is pending. */
export async function closeRedis(): Promise<void> {
  for (const redis of opened.splice(0)) await redis.close()
}

const hasServer = spawnSync('redis-server', ['--version']).status === 0

/**
 * Finds a Redis for the suite: the one at REDIS_URL, or a new one. Without either the suite is pending; with
 * REQUIRE_REDIS=1 it fails.
 */
export async function useRedis(suite: Mocha.Context): Promise<TestRedis> {
  const url = process.env['REDIS_URL']
  if (url === undefined || url === '') return startRedis(suite)
  const redis = reachable(url)
  opened.push(redis)
  return redis
}

/** Starts a Redis server on a free port; the suite is pending if there is no Redis. */
export async function startRedis(suite: Mocha.Context, ...options: string[]): Promise<OwnRedis> {
  if (!hasServer) return pending(suite, 'redis-server is not on the PATH')
  const [folder, port] = await Promise.all([makeTempFolder('redis'), findFreePort()])
  const redis = reachable(`redis://127.0.0.1:${port}`)
  let server: ChildProcess | undefined
  const start = async () => {
    const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', '', ...options]
    const child = spawn('redis-server', [...args, '--appendonly', 'no'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    server = child
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    await until(() => {
      if (child.exitCode !== null) throw new Error(`redis-server did not start: ${said}`)
      return Promise.resolve(said.includes('Ready to accept connections'))
    })
  }
  const kill = async () => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
    server.kill('SIGKILL')
    await once(server, 'exit')
  }
  await start()
  const own = {
    ...redis,
    pause: async () => server && standStill(server),
    goOn: () => server?.kill('SIGCONT'),
    kill,
    start,
    async close() {
      await redis.close()
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
  opened.push(own)
  return own
}

function reachable(url: string): TestRedis {
  const prefix = `test-${randomBytes(4).toString('hex')}:`
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => 50, maxRetriesPerRequest: null })
  client.on('error', () => undefined) // the test has stopped Redis
  return {
    url,
    config: { url, timeoutMs: 100, prefix },
    env: { REDIS_URL: url, REDIS_PREFIX: prefix },
    client,
    close: () => {
      client.disconnect()
      return Promise.resolve()
    },
  }
}

function pending(suite: Mocha.Context, reason: string): never {
  if (process.env['REQUIRE_REDIS'] === '1') throw new Error(`REQUIRE_REDIS=1, and ${reason}`)
  return skipFor(suite, `REDIS_URL is not set, and ${reason}`)
}
