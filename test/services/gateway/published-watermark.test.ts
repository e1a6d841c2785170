import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { expect } from 'chai'
import { Acceptance, type Published } from '../../../services/gateway/acceptance.ts'
import { ClockWatch } from '../../../services/gateway/clock-watch.ts'
import { PublishedWatermark } from '../../../services/gateway/published-watermark.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { ExpiredGateway } from '../../../shared/postgres/gateways.ts'
import { type Micros, microsecondClock } from '../../../shared/time/microsecond-clock.ts'
import { risingClock } from '../../../shared/time/rising-clock.ts'
import { testLog } from '../../support/log.ts'

const UNRENEWED_MAX_MS = 600
const SETTLE_MS = 300

interface Row {
  lowest: Micros
  reached: Micros
  countsUntil: number
}

/** A statement on its way to the database, or its answer on the way back. */
interface Flight {
  sentAt: number
  /** The next event: its arrival, then its answer. */
  next: () => void
  /** Its gateway. An append may be lost, and a dead gateway gets no answer. */
  gateway: Gateway
  isAppend: boolean
}

/**
 * The world of the gateways: one true time in milliseconds, which is the database's, and the statements on their way.
 */
class World {
  now = 1_000_000
  readonly rows = new Map<string, Row>()
  readonly flights: Flight[] = []
  /** The highest bound that any reader got. */
  told = -Infinity
  /** Events that reached the log with a time below a bound that a reader had got. */
  readonly missed: string[] = []
  appended = 0
  refused = 0

  /** The highest bound of gateways whose rows were deleted. */
  private reachedBefore = 0

  /** Reads the bound like shared/postgres/lowest-under-way.ts. */
  read(): void {
    const counting = [...this.rows.values()].filter(({ countsUntil }) => countsUntil > this.now)
    const bound =
      counting.length > 0
        ? Math.min(...counting.map(({ lowest }) => lowest))
        : Math.max(this.now * 1_000, this.reached())
    this.told = Math.max(this.told, bound)
  }

  reached(): Micros {
    return Math.max(this.reachedBefore, ...[...this.rows.values()].map(({ reached }) => reached))
  }

  remove(id: string, reached: Micros): void {
    const row = this.rows.get(id)
    if (row !== undefined) this.reachedBefore = Math.max(this.reachedBefore, row.reached, reached)
    this.rows.delete(id)
  }

  /** Sends a statement to the database. It is executed when it arrives, and its answer arrives later. */
  send<T>(gateway: Gateway, isAppend: boolean, carryOut: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const arrive = () => {
        let answer: () => void
        try {
          const result = carryOut()
          answer = () => {
            resolve(result)
          }
        } catch (err) {
          answer = () => {
            reject(err instanceof Error ? err : new Error(String(err)))
          }
        }
        if (!gateway.isDead) this.flights.push({ sentAt: this.now, next: answer, gateway, isAppend: false })
      }
      this.flights.push({ sentAt: this.now, next: arrive, gateway, isAppend })
    })
  }
}

/** A gateway, which may be stopped and whose clock may be wrong. Only arriving answers wake it. */
class Gateway {
  isDead = false
  /** Whether it is stopped, as by SIGSTOP; answers then wait. */
  isPaused = false
  skewMicros = 0
  readonly acceptance: Acceptance
  readonly watermark: PublishedWatermark
  renewing = false

  constructor(world: World) {
    const steadyMs = () => world.now
    const wall = microsecondClock(() => world.now + this.skewMicros / 1_000, steadyMs)
    const time = risingClock(wall, steadyMs)
    this.acceptance = new Acceptance(time, SETTLE_MS, steadyMs)
    const watch = new ClockWatch({ wall, time, monotonicMs: steadyMs, settlesMs: 0, log: testLog })
    const { rows } = world
    const table = {
      // These are two statements, because readers see a row when it is committed, after its time was read.
      readNow: () => world.send(this, false, () => world.now * 1_000),
      register: async (id: string, countsForMs: number) => {
        const write = () => {
          const since = Math.max(world.now * 1_000, world.reached())
          return { lowest: since, reached: since, countsUntil: world.now + countsForMs }
        }
        const inserted = await world.send(this, false, write)
        await world.send(this, false, () => rows.set(id, inserted))
        return world.send(this, false, () => {
          const row = write()
          rows.set(id, row)
          return { since: row.lowest, now: world.now * 1_000 }
        })
      },
      renew: (id: string, { lowest, reached }: Published, countsForMs: number) =>
        world.send(this, false, () => {
          const row = rows.get(id)
          if (row === undefined || row.countsUntil <= world.now) return undefined
          rows.set(id, {
            lowest: Math.max(row.lowest, lowest),
            reached: Math.max(row.reached, reached),
            countsUntil: world.now + countsForMs,
          })
          return { now: world.now * 1_000, reached: world.reached() }
        }),
      remove: (id: string, reached: Micros) =>
        world.send(this, false, () => {
          world.remove(id, reached)
        }),
      bringBack: () => Promise.resolve(),
      findExpired: () =>
        world.send(this, false, () => {
          const expired = [...rows].filter(([, { countsUntil }]) => countsUntil <= world.now)
          const countsForMs = UNRENEWED_MAX_MS + SETTLE_MS
          return expired.map(([id, { countsUntil }]) => ({ id, renewedAt: String(countsUntil), countsForMs }))
        }),
      forgetCrashed: ({ id, renewedAt }: ExpiredGateway) =>
        world.send(this, false, () => {
          if (String(rows.get(id)?.countsUntil) === renewedAt) world.remove(id, 0)
        }),
    }
    this.watermark = new PublishedWatermark(
      { table, acceptance: this.acceptance, watch, steadyMs, monotonicMs: steadyMs, log: testLog },
      { unrenewedMaxMs: UNRENEWED_MAX_MS, settleMs: SETTLE_MS },
    )
  }

  renew(): void {
    if (this.renewing) return
    this.renewing = true
    void this.watermark
      .renew()
      .catch(() => undefined)
      .finally(() => {
        this.renewing = false
      })
  }

  report(world: World): void {
    const prepare = (acceptedAt: Micros) => world.send(this, false, () => acceptedAt)
    const append = (acceptedAt: Micros) =>
      world.send(this, true, () => {
        world.appended++
        if (acceptedAt < world.told)
          world.missed.push(`accepted at ${acceptedAt}, after readers were told ${world.told}`)
      })
    void this.acceptance.during(prepare, append).catch((err: unknown) => {
      if (err instanceof DomainError && err.code === 'suspended') world.refused++
    })
  }
}

describe('the published watermark', function () {
  this.timeout(60_000)

  /** Runs a random history. */
  const live = async (seed: number, steps: number): Promise<World> => {
    let random = seed
    const next = (max: number) => (random = (random * 48_271) % 2_147_483_647) % max
    const world = new World()
    let gateways = [new Gateway(world), new Gateway(world)]
    // Some histories are calm and others busy, because otherwise rare events would never coincide.
    const renewals = 1 + next(15)
    const stops = next(3)
    const leap = 50 + next(950)
    for (let step = 0; step < steps; step++) {
      const gateway = gateways[next(gateways.length)] as Gateway
      const isAwake = !gateway.isPaused
      const choice = next(100)
      if (choice < 30) {
        const able = world.flights.filter((flight) => flight.isAppend || !flight.gateway.isPaused)
        const flight = able[next(Math.max(1, able.length))]
        if (flight !== undefined) {
          world.flights.splice(world.flights.indexOf(flight), 1)
          flight.next()
        }
      } else if (choice < 45) world.read()
      else if (choice < 60) {
        if (isAwake && next(15) < renewals) gateway.renew()
      } else if (choice < 80) {
        if (isAwake) gateway.report(world)
      } else if (choice < 90) {
        world.now += 1 + next(next(8) === 0 ? leap : 40)
        settle(world)
      } else if (choice < 94) gateway.isPaused = !gateway.isPaused
      else if (choice < 96) {
        gateway.skewMicros = (next(2) === 0 ? 1 : -1) * next(next(2) === 0 ? 9_000_000 : 1_900_000)
      } else if (next(3) >= stops) continue
      else if (choice < 97) {
        gateway.isDead = true
        gateways = [...gateways.filter((one) => one !== gateway), new Gateway(world)]
      } else if (choice < 98 && isAwake && !gateway.renewing) {
        void gateway.watermark.end()
        gateway.isDead = true
        gateways = [...gateways.filter((one) => one !== gateway), new Gateway(world)]
      } else if (gateways.length < 3) gateways.push(new Gateway(world))
      await yieldToOthers()
    }
    return world
  }

  /** Settles the appends: a record is in the log by then, or never gets there. */
  const settle = (world: World) => {
    for (const flight of world.flights.filter(
      ({ isAppend, sentAt }) => isAppend && world.now - sentAt >= SETTLE_MS,
    ))
      world.flights.splice(world.flights.indexOf(flight), 1)
  }

  it('lets no event reach the log before what readers were told, whatever happens', async () => {
    let [appended, refused] = [0, 0]
    for (let run = 0; run < 500; run++) {
      const seed = 1 + Math.floor(Math.random() * 1e9)
      const world = await live(seed, 600)
      expect(world.missed, `seed ${seed}`).to.deep.equal([])
      appended += world.appended
      refused += world.refused
    }
    expect(appended, 'events that came through').to.be.above(500)
    expect(refused, 'events that were refused').to.be.above(50)
  })

  it('takes no reports while the clock is not that of PostgreSQL, and takes them again once it is', async () => {
    const world = new World()
    const gateway = new Gateway(world)
    const renew = async () => {
      const renewed = gateway.watermark.renew()
      for (let n = 0; n < 20; n++) {
        await yieldToOthers()
        world.flights.shift()?.next()
      }
      await renewed
    }
    for (const skewMicros of [3_000_000, -3_000_000]) {
      await renew()
      expect(gateway.acceptance.isOpen).to.equal(true)
      gateway.skewMicros = skewMicros
      await renew()
      expect(gateway.acceptance.isOpen, `${skewMicros} µs away`).to.equal(false)
      gateway.skewMicros = 1_500_000
      await renew()
      expect(gateway.acceptance.isOpen).to.equal(true)
      expect(world.rows.size, 'rows').to.equal(1)
      gateway.skewMicros = 0
    }
  })
})
