import { Redis as IoRedis } from 'ioredis'
import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import { circuitBreaker } from './circuit-breaker.ts'
import type { RedisConfig } from './config.ts'

/** The commands that Tally uses. */
type RedisClient = Pick<IoRedis, 'get' | 'set' | 'del' | 'publish' | 'eval' | 'info'>

/**
 * A Redis that may be out of reach at any time. No work waits for Redis longer than the time limit, and Tally also
 * works without Redis.
 */
export interface Redis extends Closeable {
  /** The prefix of keys and channels. */
  prefix: string
  /**
   * @returns what the work returns
   * @throws Error when the work fails or takes too long; at once while the circuit breaker counts Redis as out of reach
   */
  run<T>(work: (client: RedisClient) => Promise<T>): Promise<T>
  /**
   * Listens to a channel from now on, on a connection of its own.
   *
   * @param onGap called whenever messages may have been missed
   */
  listen(channel: string, onMessage: (message: string) => void, onGap: () => void): void
}

/** The time after a failure in which Redis gets no requests. */
const PAUSE_MS = 1_000
/** The longest time that a start waits for Redis, before it goes on without Redis. */
const START_MS = 1_000
const CONNECT_MS = 1_000
const RECONNECT_MS_MAX = 2_000
/** A connection is closed if a request was sent and no reply arrives for this long. */
const SILENT_MS = 5_000
const KEEP_ALIVE_MS = 10_000
/** How often connections are tested. */
const PING_MS = 5_000

/**
 * Opens connections to Redis. It succeeds even if Redis is out of reach. Each outage is logged once, and the client
 * tries to connect until it succeeds.
 */
export async function openRedis(
  { url, timeoutMs, prefix }: RedisConfig & { url: string },
  log: Logger,
): Promise<Redis> {
  const breaker = circuitBreaker({
    timeoutMs,
    pauseMs: PAUSE_MS,
    now: () => performance.now(),
    // A value of another type, which somebody else stored, does not mean that Redis is out of reach.
    isOutage: (err) => !messageOf(err).startsWith('WRONGTYPE'),
    onAway: (err) => {
      const reason = client.status === 'ready' ? messageOf(err) : lastFault
      log.warn({ reason }, 'Redis is away: each process counts for itself until it is back')
    },
    onBack: () => {
      log.info('Redis is back')
    },
  })
  let lastFault = 'no connection'
  const client = connect(url, timeoutMs)
  // Each failed attempt to connect emits an error; the circuit breaker logs only one for each outage.
  client.on('error', (err) => (lastFault = messageOf(err)))
  const listeners: IoRedis[] = []
  const timers: NodeJS.Timeout[] = []
  const run: Redis['run'] = (work) => breaker(() => work(client))
  await settled(client)
  // The process probes Redis now, and later at intervals. So it notices and logs an outage and its end even when few
  // requests use Redis.
  const probe = () => run((redis) => redis.get(`${prefix}probe`)).catch(() => undefined)
  await probe()
  timers.push(setInterval(() => void probe(), PING_MS).unref())
  return {
    name: 'Redis',
    prefix,
    run,
    listen(channel, onMessage, onGap) {
      const listener = connect(url, timeoutMs)
      listener.on('error', () => undefined) // the circuit breaker logs this outage
      listeners.push(listener)
      const begin = () => {
        listener.subscribe(prefix + channel).then(onGap, () => {
          listener.disconnect(true)
        })
      }
      // Why not autoResubscribe: onGap must be called when the channel is subscribed again, because messages may be
      // missed until then.
      listener.on('ready', begin)
      if (listener.status === 'ready') begin()
      listener.on('message', (_channel: string, message: string) => {
        onMessage(message)
      })
      timers.push(
        setInterval(() => {
          if (listener.status === 'ready')
            listener.ping().catch(() => {
              listener.disconnect(true)
            })
        }, PING_MS).unref(),
      )
    },
    close() {
      for (const timer of timers) clearInterval(timer)
      for (const open of [client, ...listeners]) open.disconnect()
      return Promise.resolve()
    },
  }
}

function connect(url: string, timeoutMs: number): IoRedis {
  return new IoRedis(url, {
    // The time limit of the circuit breaker ends its commands earlier. This limit also ends commands outside of the
    // circuit breaker (SUBSCRIBE, PING), so that no command waits for ever.
    commandTimeout: 2 * timeoutMs,
    connectTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
    keepAlive: KEEP_ALIVE_MS,
    noDelay: true,
    maxRetriesPerRequest: 0,
    // A command is sent now or not at all, because an increment or a purge that is sent later does harm.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    enableReadyCheck: true,
    maxLoadingRetryTime: RECONNECT_MS_MAX,
    retryStrategy: backOff,
    // After a failover the old primary still answers, but with an error.
    reconnectOnError: (err: Error) => err.message.startsWith('READONLY'),
    disableClientInfo: true,
    connectionName: 'tally',
    enableAutoPipelining: true,
  })
}

const backOff = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt, 10), RECONNECT_MS_MAX)

/** Waits until the client is connected, has failed for the first time, or takes too long. */
function settled(client: IoRedis): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, START_MS)
    for (const event of ['ready', 'error', 'close'])
      client.once(event, () => {
        clearTimeout(timer)
        resolve()
      })
  })
}

/** Only the message is logged: an error of ioredis also has the command, and its arguments may be secret. */
const messageOf = (err: unknown): string => (err instanceof Error ? err.message : String(err))
