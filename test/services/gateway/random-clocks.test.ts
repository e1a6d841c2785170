import { randomBytes } from 'node:crypto'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { expect } from 'chai'
import { randomInteger, seededRandom } from '../../../clients/reporter/simulate/seeded-random.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { ClockWorld, openTimedPool } from './clock-world.ts'

const SECOND = 1_000
const HOUR_S = 3_600
const HOUR = HOUR_S * SECOND
const DAY = 24 * HOUR
const SEED = process.env['FAULT_SEED'] ?? randomBytes(4).toString('hex')
const HISTORIES = process.env['FAULT_LONG'] === '1' ? 2_000 : 40
const STEPS = 80
/** Differences of clocks: hours as between time zones, days, and differences just below and above the limits. */
const AWAY = [
  -DAY,
  -HOUR,
  -90 * SECOND,
  -30 * SECOND,
  -3 * SECOND,
  -SECOND,
  SECOND,
  3 * SECOND,
  90 * SECOND,
].concat([2 * HOUR, 5.5 * HOUR, DAY, 40 * DAY])

describe('clocks that are set to anything, at any time', function () {
  this.timeout(1_200_000)
  let database: TestDatabase
  let pool: Pool
  let setClock: (ms: number) => Promise<void>

  before(async () => {
    database = await createDatabase('random_clocks')
    ;({ pool, setClock } = await openTimedPool(database))
  })
  after(async () => {
    await pool.end()
    await database.close()
  })

  /** Empties the tables of gateways for a new world. */
  const begin = async (world: ClockWorld) => {
    await pool.query('UPDATE reached_acceptance SET reached_at = $1', [
      // A new installation, or one that has accepted reports before.
      world.justBooted ? 0 : (world.now - 60 * SECOND) * 1_000,
    ])
    await pool.query('DELETE FROM gateways')
  }

  /** Runs a random history, until clocks have been right for some minutes. */
  const live = async (seed: string, alone: boolean): Promise<ClockWorld> => {
    const random = seededRandom(seed)
    const below = (max: number) => randomInteger(random, max)
    const world = new ClockWorld({ pool, setClock, random, alone })
    await begin(world)
    const away = () => (below(3) === 0 ? 0 : (AWAY[below(AWAY.length)] ?? 0))
    await world.setDatabaseClock()
    // If a machine starts with a wrong clock, the clock is set within some minutes. Otherwise nothing could detect the
    // error.
    let isUnset = world.justBooted
    const atBootMs = isUnset ? away() : 0
    await step('all', atBootMs)
    for (let n = alone ? 1 : 2; n > 0; n--) await world.startGateway(below(3) === 0 ? away() : atBootMs)

    async function step(which: string, aheadMs: number): Promise<void> {
      const { gateways } = world
      if (which !== 'gateway') world.databaseAheadMs = aheadMs
      if (which === 'all') {
        for (const gateway of gateways) gateway.aheadMs = aheadMs
        world.listerAheadMs = aheadMs
      }
      const gateway = gateways[below(gateways.length)]
      if (which === 'gateway' && gateway !== undefined) gateway.aheadMs = aheadMs
      if (which === 'gateway' && below(3) === 0) world.listerAheadMs = aheadMs
      await world.setDatabaseClock()
    }
    async function replace(isCrash: boolean): Promise<void> {
      const [gateway] = world.gateways.splice(below(world.gateways.length), 1)
      if (gateway !== undefined) gateway.isDead = isCrash
      if (!isCrash) {
        await world.answered()
        await gateway?.end()
      }
      world.deliver()
      await world.startGateway(gateway?.aheadMs ?? 0)
    }
    for (let n = 0; n < STEPS; n++) {
      const choice = below(100)
      if (choice < 30) world.report()
      if (choice < 45) await world.send()
      else if (choice < 55) world.load()
      else if (choice < 67) await world.follow(1 + below(5))
      else if (choice < 82) await world.pass(50 + below(2_500))
      else if (choice < 84) {
        if (isUnset) await step('all', 0)
        isUnset = false
        await world.pass(below(400) * SECOND)
      } else if (choice < 97)
        await step(['database', 'gateway', 'gateway', 'all', 'all'][below(5)] ?? '', away())
      else if (choice < 98) world.restartLister()
      else if (choice < 99 && !alone && world.gateways.length < 4)
        await world.startGateway(world.gateways[0]?.aheadMs ?? 0)
      else await replace(below(2) === 0)
    }
    world.databaseAheadMs = 0
    world.listerAheadMs = 0
    for (const gateway of world.gateways) gateway.aheadMs = 0
    await world.setDatabaseClock()
    for (let n = 0; n < 25; n++) {
      await world.pass(15 * SECOND)
      for (let left = world.waiting.length; left > 0; left--) await world.send()
      await world.answered()
      world.load()
      await world.follow()
    }
    await world.pass(6 * SECOND)
    world.load()
    await world.follow()
    return world
  }

  for (const [title, meanwhile] of [
    [
      'a list that starts then',
      (world: ClockWorld) => {
        world.restartLister()
      },
    ],
    ['a gateway that starts then', (world: ClockWorld) => world.startGateway(DAY)],
  ] as const)
    it(`hide no event under way, when all are a day ahead for a moment, from ${title}`, async () => {
      let isHeld = true
      const random = () => (isHeld ? 0.9 : 0.6) // see ClockWorld.append
      const world = new ClockWorld({ pool, setClock, random, alone: false })
      await begin(world)
      const setAll = async (aheadMs: number) => {
        world.databaseAheadMs = world.listerAheadMs = aheadMs
        for (const gateway of world.gateways) gateway.aheadMs = aheadMs
        await world.setDatabaseClock()
      }
      await setAll(0)
      await world.startGateway(0)
      await world.pass(SECOND)
      await world.follow()
      world.report()
      await world.send()
      while (!world.isHolding) await yieldToOthers()
      isHeld = false
      world.report()
      await world.send()
      while (world.isLogEmpty) await yieldToOthers()
      world.load() // what was accepted second
      await setAll(DAY)
      await Promise.resolve(meanwhile(world))
      await world.follow()
      await world.answered()
      world.load()
      await setAll(0)
      for (let n = 0; n < 25; n++) {
        await world.pass(15 * SECOND)
        await world.follow()
      }
      expect(world.stored.size, 'counted').to.equal(5)
      expect([...world.followed.keys()]).to.have.members([...world.stored.keys()])
      const { rows } = await pool.query('SELECT 1 FROM gateways')
      expect(rows, 'rows of gateways').to.have.length(world.gateways.length)
    })

  for (const [who, alone] of [
    ['one process', true],
    ['several', false],
  ] as const)
    it(`cost ${who} no report, no place in the list and nobody who follows it an event`, async () => {
      let putOff = 0
      for (let n = 0; n < HISTORIES; n++) {
        const seed = `${SEED} ${who} ${n}`
        const world = await live(seed, alone)
        const told = `FAULT_SEED=${SEED}, history ${n} of ${who}`
        expect(world.refused, `${told}: refused for good`).to.deep.equal([])
        expect(world.waiting, `${told}: never taken`).to.deep.equal([])
        const counted = new Map(
          [...world.stored.values()].map(({ properties, quantity }) => [
            (JSON.parse(properties) as { key: string }).key,
            quantity,
          ]),
        )
        expect(world.stored.size, `${told}: counted`).to.equal(world.reported.size)
        expect(counted, `${told}: quantities`).to.deep.equal(world.reported)
        const missed = [...world.stored.values()].filter(({ id }) => !world.followed.has(id))
        expect(missed, `${told}: missed by who follows the list`).to.deep.equal([])
        // A gateway without PostgreSQL may continue for some time after each start, and this time limits the
        // difference.
        expect(world.furthestAheadS, `${told}: accepted ahead of PostgreSQL`).to.be.below(HOUR_S)
        putOff += world.putOff
      }
      expect(putOff, 'reports that were told to come again').to.be.above(HISTORIES)
    })
})
