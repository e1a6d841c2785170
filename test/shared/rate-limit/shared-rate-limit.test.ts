import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { RateLimit } from '../../../shared/rate-limit/rate-limit.ts'
import { sharedRateLimit } from '../../../shared/rate-limit/shared-rate-limit.ts'
import { NAMES } from '../../../shared/redis/names.ts'
import { openRedis, type Redis } from '../../../shared/redis/redis.ts'
import { testLog } from '../../support/log.ts'
import { closeRedis, type OwnRedis, startRedis, type TestRedis, useRedis } from '../../support/redis.ts'

/** The share of the quota that a process may use before it asks Redis. */
const SHARE = 0.05

describe('a limit of rate that processes share', function () {
  this.timeout(60_000)
  let server: TestRedis
  let processes: Redis[]
  let callers = 0

  beforeEach(async () => {
    processes = await Promise.all(Array.from({ length: 3 }, () => openRedis(server.config, testLog)))
  })
  afterEach(() => Promise.all(processes.map((redis) => redis.close())))

  const limitsOf = (quota: number, windowS = 60): RateLimit[] =>
    processes.map((redis) => sharedRateLimit({ name: `of ${quota} in ${windowS}`, quota, windowS }, redis))
  const newCaller = () => `caller ${++callers}`

  /** @returns the number of granted points */
  const useAll = async (
    limits: readonly RateLimit[],
    caller: string,
    uses: readonly (readonly [number, number])[],
  ) => {
    let given = 0
    for (const [process, points] of uses)
      if ((await (limits[process % limits.length] as RateLimit).use(caller, points)).isWithin) given += points
    return given
  }

  describe('on any Redis', () => {
    before(async function () {
      const redis = await useRedis(this)
      // On a busy machine an answer may take longer than a process waits in use, and then each process counts alone.
      server = { ...redis, config: { ...redis.config, timeoutMs: 5_000 } }
    })
    after(closeRedis)

    it('gives out the quota, and no more than the share of each process above it, however it is asked', async () => {
      const uses = fc.array(fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 40 })), {
        minLength: 50,
        maxLength: 200,
      })
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 500 }), uses, async (quota, tried) => {
          const given = await useAll(limitsOf(quota), newCaller(), tried)
          const asked = tried.reduce((sum, [, points]) => sum + points, 0)
          expect(given).to.be.at.most(quota * (1 + processes.length * SHARE))
          // A refused use ends the window, as in memory, so at most the points of the largest use are missing.
          expect(given).to.be.at.least(Math.min(asked, quota - 40 - processes.length * quota * SHARE))
        }),
        { numRuns: 40 },
      )
    })

    it('holds when all ask at once', async () => {
      const quota = 1_000
      const limits = limitsOf(quota)
      const caller = newCaller()
      const answers = await Promise.all(
        Array.from({ length: 6_000 }, (_, n) => (limits[n % 3] as RateLimit).use(caller, 1)),
      )
      const given = answers.filter(({ isWithin }) => isWithin).length
      expect(given).to.be.within(quota, quota * (1 + 3 * SHARE))
      for (const { remaining, resetS } of answers) {
        expect(remaining).to.be.within(0, quota)
        expect(resetS).to.be.within(1, 60)
      }
    })

    it('begins anew in each window', async () => {
      const [limit] = limitsOf(10, 1) as [RateLimit]
      const caller = newCaller()
      const useTwenty = () =>
        useAll(
          [limit],
          caller,
          Array.from({ length: 20 }, () => [0, 1]),
        )
      expect(await useTwenty()).to.equal(10)
      await sleep(1_100)
      expect(await useTwenty()).to.equal(10)
    })
  })

  describe('on a Redis of its own, which may fail', () => {
    let own: OwnRedis

    before(async function () {
      server = own = await startRedis(this)
    })
    after(closeRedis)

    it('sends no message for a caller that is far from its limit', async () => {
      const [limit] = limitsOf(10_000) as [RateLimit]
      const commands = async () =>
        Number(/total_commands_processed:(\d+)/.exec(await server.client.info('stats'))?.[1])
      const before = await commands()
      for (let n = 0; n < 250; n++) await limit.use(newCaller(), 1)
      const caller = newCaller()
      for (let n = 0; n < 250; n++) await limit.use(caller, 1)
      expect((await commands()) - before).to.be.lessThan(10)
    })

    for (const fault of ['paused', 'killed'] as const)
      it(`counts in each process alone while Redis is ${fault}, keeps answering, and shares again afterwards`, async () => {
        const quota = 200
        const limits = limitsOf(quota, 1)
        const caller = newCaller()
        await useAll(limits, caller, [[0, 100]])
        if (fault === 'paused') await own.pause()
        else await own.kill()
        const times: number[] = []
        const given = [0, 0, 0]
        const startedAt = performance.now()
        while (performance.now() - startedAt < 3_000)
          for (const [process, limit] of limits.entries()) {
            const at = performance.now()
            if ((await limit.use(caller, 1)).isWithin) given[process] = (given[process] ?? 0) + 1
            times.push(performance.now() - at)
            await sleep(0)
          }
        times.sort((a, b) => a - b)
        expect(times.at(-1)).to.be.lessThan(server.config.timeoutMs + 60)
        expect(times[Math.floor(times.length * 0.99)]).to.be.lessThan(10)
        for (const points of given) expect(points).to.be.within(quota, quota * 5) // each alone, in three to four windows
        if (fault === 'paused') own.goOn()
        else await own.start()
        await sleep(3_500) // the reconnection, and a new window
        const shared = await useAll(
          limits,
          newCaller(),
          Array.from({ length: 600 }, (_, n) => [n, 1]),
        )
        expect(shared).to.be.within(quota, quota * (1 + 3 * SHARE))
      })

    it('counts on when what is in Redis is no counter, or is gone', async () => {
      const quota = 10
      for (const spoil of [
        (name: string) => server.client.set(name, 'garbage'),
        (name: string) => server.client.set(name, '-1000000'),
        (name: string) => server.client.set(name, '9223372036854775807'),
        (name: string) => server.client.set(name, '9000000000000000'),
        (name: string) => server.client.lpush(name, 'x'),
        (name: string) => server.client.set(name, '99', 'EX', 1_000_000),
        () => server.client.flushall(),
      ]) {
        const limits = limitsOf(quota)
        const caller = newCaller()
        const name = `${server.config.prefix}${NAMES.limit(`of ${quota} in 60`)}:${caller}`
        await spoil(name)
        const given = await useAll(
          limits,
          caller,
          Array.from({ length: 30 }, (_, n) => [n, 1]),
        )
        expect(given).to.equal(quota)
        expect(await server.client.ttl(name)).to.be.within(1, 60)
      }
    })
  })
})
