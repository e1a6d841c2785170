import { randomBytes, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { knownReferences, type FindUnknown } from '../../../services/gateway/known-references.ts'
import { NAMES } from '../../../shared/redis/names.ts'
import { openPurges } from '../../../shared/redis/purges.ts'
import { openRedis, type Redis } from '../../../shared/redis/redis.ts'
import { sharedReferences } from '../../../shared/redis/shared-references.ts'
import { openSigner } from '../../../shared/redis/signed-values.ts'
import { testLog } from '../../support/log.ts'
import { closeRedis, startRedis, useRedis, type OwnRedis, type TestRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

describe('accounts and metrics that are known to exist', function () {
  this.timeout(30_000)
  const secret = randomBytes(32)
  let server: TestRedis
  let namespace: string
  let existing: Set<string>
  let asked: string[]
  const opened: Redis[] = []

  beforeEach(() => {
    namespace = randomUUID()
    existing = new Set(['account_1', 'metric_1'])
    asked = []
  })
  afterEach(async () => {
    for (const redis of opened.splice(0)) await redis.close()
  })

  const start = async (): Promise<FindUnknown> => {
    const redis = await openRedis(server.config, testLog)
    opened.push(redis)
    const purges = openPurges(redis)
    let listens = false
    purges.onPurge(() => (listens = true))
    await until(() => Promise.resolve(listens))
    return knownReferences(
      (_namespace, accounts, metrics) => {
        asked.push(...accounts, ...metrics)
        return Promise.resolve([...accounts, ...metrics].filter((id) => existing.has(id)))
      },
      1_000,
      { purges, shared: sharedReferences(redis, openSigner(secret)) },
    )
  }
  const unknownOf = async (find: FindUnknown, ...ids: string[]) => [
    ...(await find(
      namespace,
      new Set(ids.filter((id) => id.startsWith('account'))),
      new Set(ids.filter((id) => id.startsWith('metric'))),
    )),
  ]
  const nameOf = (id: string) => server.config.prefix + NAMES.known(namespace, id)
  const kept = (id: string) => until(async () => (await server.client.get(nameOf(id))) ?? false)

  describe('on any Redis', () => {
    before(async function () {
      server = await useRedis(this)
    })
    after(closeRedis)

    it('are looked up once for all processes; what does not exist is asked again each time', async () => {
      const [one, other] = [await start(), await start()]
      expect(await unknownOf(one, 'account_1', 'account_2', 'metric_1')).to.deep.equal(['account_2'])
      await kept('metric_1')
      asked = []
      expect(await unknownOf(other, 'account_1', 'account_2', 'metric_1')).to.deep.equal(['account_2'])
      expect(asked).to.deep.equal(['account_2'])
      existing.add('account_2')
      expect(await unknownOf(other, 'account_2')).to.deep.equal([])
      expect(await server.client.ttl(nameOf('account_1'))).to.be.within(3_000, 3_600)
    })

    it('do not come from what somebody else put into Redis', async () => {
      const one = await start()
      await unknownOf(one, 'account_1')
      const signed = await kept('account_1')
      const spoilers = [signed, openSigner(randomBytes(32)).sign(NAMES.known(namespace, 'account_2'), { value: '', asOf: 0 }), '', 'x'] // prettier-ignore
      for (const text of spoilers) {
        await server.client.set(nameOf('account_2'), text)
        expect(await unknownOf(await start(), 'account_1', 'account_2')).to.deep.equal(['account_2'])
      }
      await server.client.multi().del(nameOf('account_2')).lpush(nameOf('account_2'), 'x').exec()
      asked = []
      expect(await unknownOf(await start(), 'account_1', 'account_2')).to.deep.equal(['account_2'])
      expect(asked).to.deep.equal(['account_2'])
    })
  })

  describe('on a Redis of its own, which may fail', () => {
    let own: OwnRedis

    before(async function () {
      server = own = await startRedis(this)
    })
    after(closeRedis)

    it('are looked up when Redis stands still, is gone or empty, and forgotten when that is asked for', async () => {
      const one = await start()
      expect(await unknownOf(one, 'account_1')).to.deep.equal([])
      own.pause()
      expect(await unknownOf(one, 'metric_1', 'metric_2')).to.deep.equal(['metric_2'])
      own.goOn()
      await own.kill()
      expect(await unknownOf(one, 'account_1', 'metric_2')).to.deep.equal(['metric_2'])
      await own.start()
      const other = await start()
      expect(await unknownOf(other, 'account_1')).to.deep.equal([])
      existing.clear()
      expect(await unknownOf(other, 'account_1')).to.deep.equal([])
      await server.client.flushall()
      await server.client.publish(`${server.config.prefix}${NAMES.purges}`, 'everything')
      await until(async () => (await unknownOf(other, 'account_1')).length === 1)
    })
  })
})
