import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { type Random, randomInteger } from '../../../clients/reporter/simulate/seeded-random.ts'
import { Acceptance } from '../../../services/gateway/acceptance.ts'
import { ClockWatch } from '../../../services/gateway/clock-watch.ts'
import { PublishedWatermark } from '../../../services/gateway/published-watermark.ts'
import { type Report, type ReportUsage, reportUsage } from '../../../services/gateway/report-usage.ts'
import type { ReportedEvent } from '../../../services/gateway/reported-event.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { NewRecord } from '../../../shared/event-log/event-log.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { gatewayRepository } from '../../../shared/postgres/gateways.ts'
import { KEY_FORM } from '../../../shared/postgres/idempotency-keys.ts'
import { lowestUnderWayIn } from '../../../shared/postgres/lowest-under-way.ts'
import { type Micros, microsecondClock, unixSeconds } from '../../../shared/time/microsecond-clock.ts'
import { risingClock } from '../../../shared/time/rising-clock.ts'
import { steadyClock } from '../../../shared/time/steady-clock.ts'
import { parseLogLine } from '../../../shared/usage-lines/log-line.ts'
import { testLog } from '../../support/log.ts'
import type { TestDatabase } from '../../support/postgres.ts'

const UNRENEWED_MAX_MS = 60_000
const SETTLE_MS = 30_000
/** The default of GATEWAY_CLOCK_SETTLES_S. */
const CLOCK_SETTLES_MS = 180_000
const RENEW_MS = 1_000

const NAMESPACE = randomUUID()
const ACCOUNTS = ['a', 'b', 'c'].map((digit) => `account_${digit.repeat(32)}`)

/**
 * Opens a database whose clock a test sets. Functions with the same names take precedence over those of PostgreSQL.
 *
 * @returns connections that use this clock, and a function that sets it, in milliseconds since 1970
 */
export async function openTimedPool(
  database: TestDatabase,
): Promise<{ pool: Pool; setClock: (ms: number) => Promise<void> }> {
  const owner = new pg.Client({ connectionString: database.superuserUrl })
  await owner.connect()
  await owner.query(`
    CREATE SCHEMA timed;
    CREATE TABLE timed.clock (ms float8 NOT NULL);
    INSERT INTO timed.clock VALUES (0);
    CREATE FUNCTION timed.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
      $$ SELECT to_timestamp(ms / 1000) FROM timed.clock $$;
    CREATE FUNCTION timed.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
      $$ SELECT timed.clock_timestamp() $$;
    GRANT USAGE ON SCHEMA timed TO PUBLIC;
    GRANT SELECT, UPDATE ON timed.clock TO PUBLIC;`)
  await owner.end()
  const pool = new pg.Pool({
    connectionString: database.serviceUrl,
    max: 4,
    options: '-c search_path=timed,pg_catalog,tally -c timezone=UTC',
  })
  const setClock = async (ms: number) => {
    await pool.query({ name: 'set', text: 'UPDATE timed.clock SET ms = $1', values: [ms] })
  }
  return { pool, setClock }
}

/** A request of a reporter, which repeats it unchanged until it is accepted, like the client in README. */
interface Request {
  events: ReportedEvent[]
  key: string | undefined
}

interface WorldOptions {
  pool: Pool
  setClock: (ms: number) => Promise<void>
  random: Random
  /**
   * Whether one process accepts reports and lists events. Otherwise several gateways accept reports, and another
   * process lists.
   */
  alone: boolean
}

/** Gateways and a list of events on one PostgreSQL, on machines whose clocks can be set to any time. */
export class ClockWorld {
  /** The real time, in milliseconds since 1970. */
  now = 1_790_000_000_000
  /** The milliseconds by which PostgreSQL's clock is ahead. */
  databaseAheadMs = 0
  /** The milliseconds by which the clock of the listing process is ahead. */
  listerAheadMs = 0
  gateways: Gateway[] = []
  readonly waiting: Request[] = []
  /** All reported events, by idempotency key. */
  readonly reported = new Map<string, string>()
  /** Reports that were refused permanently. */
  readonly refused: string[] = []
  readonly followed = new Map<string, UsageEvent>()
  readonly stored = new Map<string, UsageEvent>()
  /** The largest time by which an acceptance was ahead of the latest time of PostgreSQL's clock. */
  furthestAheadS = -Infinity
  /** The number of answers that asked for a repeat. */
  putOff = 0
  readonly options: WorldOptions
  /** Whether the machines have just started. */
  readonly justBooted: boolean
  readonly bootedAt: number
  readonly requestKeys = new Map<string, Micros>()
  private latestMs = -Infinity
  private log: NewRecord[] = []
  private readonly held: (() => void)[] = []
  private lowestUnderWay: () => Promise<Micros>
  private place = { second: -Infinity, id: '' }

  constructor(options: WorldOptions) {
    this.options = options
    this.justBooted = options.random() < 0.5
    this.bootedAt = this.justBooted ? this.now : this.now - 1_000_000
    this.lowestUnderWay = options.alone
      ? () => Promise.resolve(this.gateways[0]?.acceptance.lowest() ?? -Infinity)
      : this.newLister()
  }

  /** Lets time pass. Gateways check clocks every second, or less often during long times. */
  async pass(ms: number): Promise<void> {
    const until = this.now + ms
    const stepMs = Math.max(RENEW_MS, ms / 12)
    while (this.now < until) {
      this.now = Math.min(until, this.now + stepMs)
      this.deliver()
      await this.setDatabaseClock()
      for (const gateway of this.gateways) await gateway.renew()
    }
  }

  /** Starts the listing process anew. Nothing is left of the rows it has seen. */
  restartLister(): void {
    if (!this.options.alone) this.lowestUnderWay = this.newLister()
  }

  private newLister(): () => Promise<Micros> {
    const startedAt = this.now
    return lowestUnderWayIn(this.options.pool, {
      wallMs: () => this.now + this.listerAheadMs,
      monotonicMs: () => this.now - startedAt,
    })
  }

  async setDatabaseClock(): Promise<void> {
    this.latestMs = Math.max(this.latestMs, this.now + this.databaseAheadMs)
    await this.options.setClock(this.now + this.databaseAheadMs)
  }

  async startGateway(aheadMs: number): Promise<void> {
    const gateway = new Gateway(this, aheadMs)
    if (this.options.alone) await gateway.table.forgetAll()
    await gateway.renew()
    this.gateways.push(gateway)
  }

  /** Appends records, at once or at the next step. */
  append(records: readonly NewRecord[]): Promise<void> {
    for (const { acceptedAt } of records)
      this.furthestAheadS = Math.max(this.furthestAheadS, acceptedAt / 1e6 - this.latestMs / 1_000)
    const write = () => {
      this.log.push(...records)
    }
    if (this.options.random() < 0.7) {
      write()
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      this.held.push(() => {
        write()
        resolve()
      })
    })
  }

  /** Whether records are on their way to the log. */
  get isHolding(): boolean {
    return this.held.length > 0
  }

  /** Whether no records wait to be loaded. */
  get isLogEmpty(): boolean {
    return this.log.length === 0
  }

  deliver(): void {
    for (const write of this.held.splice(0)) write()
  }

  report(): void {
    const { random } = this.options
    const happenedAt = Math.floor((this.now - randomInteger(random, 3) * 1_000) / 1_000)
    const hasRequestKey = random() < 0.2
    const events = Array.from({ length: 1 + randomInteger(random, 3) }, (): ReportedEvent => {
      const key = randomUUID()
      const quantity = String(1 + randomInteger(random, 1_000))
      this.reported.set(key, quantity)
      return {
        account_id: ACCOUNTS[randomInteger(random, ACCOUNTS.length)] ?? '',
        currency: 'usd',
        quantity,
        properties: { key },
        ...(hasRequestKey ? {} : { occurred_at: happenedAt, idempotency_key: key }),
      }
    })
    this.waiting.push({ events, key: hasRequestKey ? randomUUID() : undefined })
  }

  /** Sends a waiting request, whose answer may be lost. */
  async send(): Promise<void> {
    const { random } = this.options
    const [request] = this.waiting.splice(randomInteger(random, this.waiting.length), 1)
    const gateway = this.gateways[randomInteger(random, this.gateways.length)]
    if (request === undefined || gateway === undefined) return
    const sending = gateway.send(request).then(
      () => random() < 0.8 || this.waiting.push(request),
      (err: unknown) => {
        if (!(err instanceof DomainError)) throw err
        if (err.code === 'suspended' || err.code === 'overloaded' || err.code === 'unavailable') {
          this.putOff++
          this.waiting.push(request)
        } else this.refused.push(`${err.code}: ${err.message}`)
      },
    )
    if (random() < 0.5) await Promise.race([sending, settled()])
    else this.sent.push(sending)
  }

  private readonly sent: Promise<unknown>[] = []

  /** Waits until all requests are answered. */
  async answered(): Promise<void> {
    while (this.sent.length > 0) {
      this.deliver()
      await settled()
      const all = this.sent.splice(0)
      const isDone = await Promise.race([Promise.all(all).then(() => true), settled().then(() => false)])
      if (!isDone) this.sent.push(...all)
    }
  }

  load(): void {
    for (const { value } of this.log.splice(0))
      for (const line of value.toString().trim().split('\n')) {
        const parsed = parseLogLine(line)
        if (!('event' in parsed)) throw new Error(parsed.fault)
        const { event } = parsed
        const before = this.stored.get(event.id)
        if (before === undefined || event.version > before.version) this.stored.set(event.id, event)
      }
  }

  /** Reads the list from the last event on, like GET /v2/events; see listEvents. */
  async follow(limit = Infinity): Promise<void> {
    const underWay = await this.lowestUnderWay()
    const before = unixSeconds(Math.min(underWay, ...this.log.map(({ acceptedAt }) => acceptedAt)))
    const { second, id } = this.place
    const listed = [...this.stored.values()]
      .map((event) => ({ event, second: unixSeconds(event.acceptedAt) }))
      .filter((one) => one.second < before)
      .filter((one) => one.second > second || (one.second === second && one.event.id > id))
      .sort((a, b) => a.second - b.second || (a.event.id < b.event.id ? -1 : 1))
      .slice(0, limit)
    for (const one of listed) {
      this.followed.set(one.event.id, one.event)
      this.place = { second: one.second, id: one.event.id }
    }
  }
}

/** A gateway's process, on a machine whose clock may be wrong. */
class Gateway {
  aheadMs: number
  /** Whether it has crashed. Then its records no longer reach the log. */
  isDead = false
  readonly acceptance: Acceptance
  readonly table: ReturnType<typeof gatewayRepository>
  private readonly watermark: PublishedWatermark
  private readonly report: ReportUsage
  private readonly world: ClockWorld
  private renewedAt = -Infinity

  constructor(world: ClockWorld, aheadMs: number) {
    this.world = world
    this.aheadMs = aheadMs
    const wallMs = () => Math.floor(world.now + this.aheadMs)
    const startedAt = world.now
    const monotonicMs = () => world.now - startedAt
    const wall = microsecondClock(wallMs, monotonicMs)
    const time = risingClock(wall, monotonicMs)
    const uptimeMs = () => world.now - world.bootedAt
    const settlesMs = CLOCK_SETTLES_MS
    const watch = new ClockWatch({ wall, time, monotonicMs, uptimeMs, settlesMs, log: testLog })
    const steadyMs = steadyClock(wallMs, monotonicMs)
    this.acceptance = new Acceptance(time, SETTLE_MS, steadyMs, () => watch.agrees)
    this.table = gatewayRepository(world.options.pool)
    this.watermark = new PublishedWatermark(
      { table: this.table, acceptance: this.acceptance, watch, steadyMs, monotonicMs, log: testLog },
      { unrenewedMaxMs: UNRENEWED_MAX_MS, settleMs: SETTLE_MS },
    )
    this.report = reportUsage({
      log: { partitions: 1, append: (records) => (this.isDead ? gone() : world.append(records)) },
      acceptance: this.acceptance,
      clock: wall,
      mayBeBehind: () => watch.mayBeBehind,
      findMissing: () => Promise.resolve(new Set()),
      requestKeys: {
        begin(_namespace, { key }, _body, at) {
          const first = world.requestKeys.get(key) ?? at
          world.requestKeys.set(key, first)
          return Promise.resolve({ at: first, form: KEY_FORM.ofContent })
        },
        complete: () => Promise.resolve(),
      },
    })
  }

  async renew(): Promise<void> {
    if (this.world.now - this.renewedAt < RENEW_MS) return
    this.renewedAt = this.world.now
    await this.watermark.renew()
  }

  end(): Promise<void> {
    return this.watermark.end()
  }

  async send({ events, key }: Request): Promise<void> {
    this.acceptance.requireOpen() // like admitWrite, before any other check
    const request: Report = {
      caller: { namespaceId: NAMESPACE },
      aheadMs: 0,
      events,
      body: Buffer.alloc(0),
      route: '/v2/events/batch',
      requestKey: key,
      label: (index) => `events[${index}].`,
    }
    await this.report(request)
  }
}

const gone = () => Promise.reject(new DomainError('unavailable', 'the gateway is gone'))

/** Lets all pending callbacks run. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
