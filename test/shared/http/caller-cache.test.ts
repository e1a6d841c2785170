import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Caller, FoundCaller } from '../../../shared/domain/api-key.ts'
import { cachedFindCaller, type FindCaller } from '../../../shared/http/authentication.ts'
import { NAMES } from '../../../shared/redis/names.ts'
import { openPurges, type Purges } from '../../../shared/redis/purges.ts'
import { openRedis, type Redis } from '../../../shared/redis/redis.ts'
import { testLog } from '../../support/log.ts'
import { closeRedis, type OwnRedis, startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

/** The longest time until a revocation has an effect. */
const REVOKED_MS = 5_000

/** One of the processes that serve. */
interface Process {
  redis: Redis
  purges: Purges
  find: FindCaller
  /** The number of its queries to the database. */
  asked: number
}

describe('the cache of callers', function () {
  this.timeout(60_000)
  let server: OwnRedis
  /** The valid keys in the database. */
  const valid = new Map<string, Caller>()
  let answer: (caller: Caller | undefined) => Promise<FoundCaller | undefined>
  const processes: Process[] = []

  before(async function () {
    server = await startRedis(this)
  })
  after(closeRedis)
  beforeEach(() => {
    answer = (caller) => Promise.resolve(caller)
  })
  afterEach(async () => {
    for (const { redis } of processes.splice(0)) await redis.close()
  })

  const start = async (): Promise<Process> => {
    const redis = await openRedis(server.config, testLog)
    const purges = openPurges(redis)
    let listens = false
    purges.onPurge(() => (listens = true))
    const process: Process = {
      redis,
      purges,
      asked: 0,
      find: cachedFindCaller((digest) => {
        process.asked++
        return answer(valid.get(digest.toString('hex')))
      }, purges),
    }
    processes.push(process)
    await until(() => Promise.resolve(listens))
    return process
  }
  const issue = (): Buffer => {
    const digest = randomBytes(32)
    valid.set(digest.toString('hex'), {
      keyId: randomUUID(),
      companyId: randomUUID(),
      namespaceId: randomUUID(),
      mode: 'live',
      permissions: ['read:all'],
    })
    return digest
  }
  const isValid = async ({ find }: Process, digest: Buffer) => (await find(digest)) !== undefined

  /** The time for which a key still works in a process. */
  const worksFor = async (process: Process, digest: Buffer): Promise<number> => {
    const startedAt = performance.now()
    while (await isValid(process, digest)) {
      if (performance.now() - startedAt > REVOKED_MS * 2) return Infinity
      await sleep(20)
    }
    return performance.now() - startedAt
  }

  it('asks the database once for several requests, and leaves nothing in Redis', async () => {
    const one = await start()
    const digest = issue()
    const found = await Promise.all([one.find(digest), one.find(digest), one.find(digest)])
    expect(found[2]).to.deep.equal(valid.get(digest.toString('hex')))
    expect(await one.find(digest)).to.deep.equal(found[0])
    expect(one.asked).to.equal(1)
    expect(await server.client.keys(`${server.config.prefix}*${digest.toString('hex')}*`)).to.deep.equal([])
  })

  it('forgets a revoked key everywhere at once', async () => {
    const all = [await start(), await start(), await start()] as const
    const digest = issue()
    for (const process of all) expect(await isValid(process, digest)).to.equal(true)
    valid.clear()
    await all[0].purges.purge(NAMES.caller(digest))
    expect(await worksFor(all[0], digest)).to.be.lessThan(20)
    expect(await worksFor(all[1], digest)).to.be.lessThan(500)
    expect(await worksFor(all[2], digest)).to.be.lessThan(500)
  })

  it('does not keep what was read before a purge and came after it', async () => {
    const [one, other] = [await start(), await start()]
    const digest = issue()
    let answerNow = (): void => undefined
    answer = (caller) =>
      new Promise((resolve) => {
        answerNow = () => {
          resolve(caller)
        }
      })
    const early = isValid(one, digest)
    await until(() => Promise.resolve(one.asked === 1))
    valid.clear()
    await other.purges.purge(NAMES.caller(digest))
    await sleep(100)
    answerNow()
    expect(await early).to.equal(true) // it was asked before
    answer = (caller) => Promise.resolve(caller)
    expect(await worksFor(one, digest)).to.be.lessThan(20)
    expect(await worksFor(other, digest)).to.be.lessThan(20)
    expect(await worksFor(await start(), digest)).to.be.lessThan(REVOKED_MS)
  })

  for (const fault of ['paused', 'killed'] as const)
    it(`forgets a revoked key within five seconds while Redis is ${fault}`, async () => {
      const [one, other] = [await start(), await start()]
      const digest = issue()
      expect(await isValid(one, digest)).to.equal(true)
      expect(await isValid(other, digest)).to.equal(true)
      if (fault === 'paused') await server.pause()
      else await server.kill()
      valid.clear()
      await one.purges.purge(NAMES.caller(digest))
      expect(await worksFor(one, digest)).to.be.lessThan(200)
      expect(await worksFor(other, digest)).to.be.lessThan(REVOKED_MS)
      if (fault === 'paused') server.goOn()
      else await server.start()
      expect(await worksFor(await start(), digest)).to.be.lessThan(100)
    })

  /** Makes the database return keys that end after some time. */
  const endAfter = (ms: number) => {
    const endsAt = performance.now() + ms
    answer = (caller) => {
      const endsInMs = endsAt - performance.now()
      return Promise.resolve(caller !== undefined && endsInMs > 0 ? { ...caller, endsInMs } : undefined)
    }
    return endsAt
  }
  const endOf = async (process: Process, digest: Buffer) => {
    await worksFor(process, digest)
    return performance.now()
  }

  it('caches a key until it ends and no longer', async () => {
    let asked = 0
    const find = cachedFindCaller((digest) => {
      asked++
      return answer(valid.get(digest.toString('hex')))
    })
    const digest = issue()
    const endsAt = endAfter(600)
    const process = { find } as Process
    expect((await endOf(process, digest)) - endsAt).to.be.within(-1, 300)
    expect(asked).to.be.within(2, 4)
  })

  it('answers the same whatever becomes of Redis', async () => {
    const all = [await start(), await start()]
    const step = fc.oneof(
      fc.record({ kind: fc.constant('find' as const), process: fc.nat(1), key: fc.nat(3) }),
      fc.record({ kind: fc.constant('revoke' as const), process: fc.nat(1), key: fc.nat(3) }),
      fc.record({ kind: fc.constant('flush' as const) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const keys = Array.from({ length: 4 }, issue)
        const revoked = new Set<Buffer>()
        for (const done of steps) {
          const digest = keys['key' in done ? done.key : 0] as Buffer
          const process = all['process' in done ? done.process : 0] as Process
          switch (done.kind) {
            case 'find':
              // A revocation has an effect at once in its own process, and in the other one when the message arrives.
              await until(async () => (await isValid(process, digest)) === !revoked.has(digest), 1_000)
              break
            case 'revoke':
              valid.delete(digest.toString('hex'))
              revoked.add(digest)
              await process.purges.purge(NAMES.caller(digest))
              break
            case 'flush':
              await server.client.flushall()
          }
        }
      }),
      { numRuns: 30 },
    )
  })
})
