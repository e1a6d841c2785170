import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { existingReferences } from '../../../services/gateway/existing-references.ts'
import { NAMES } from '../../../shared/redis/names.ts'
import { openPurges, type Purges } from '../../../shared/redis/purges.ts'
import { openRedis } from '../../../shared/redis/redis.ts'
import { testLog } from '../../support/log.ts'
import { closeRedis, useRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

describe('accounts and metrics that are known to exist', function () {
  this.timeout(30_000)
  const namespace = randomUUID()
  let existing: Set<string>
  let asked: string[]

  beforeEach(() => {
    existing = new Set(['account_1', 'metric_1'])
    asked = []
  })

  const caching = (idsMax: number, purges?: Purges) => {
    const find = existingReferences(
      (_namespace, accounts, metrics) => {
        asked.push(...accounts, ...metrics)
        return Promise.resolve([...accounts, ...metrics].filter((id) => existing.has(id)))
      },
      idsMax,
      purges,
    )
    return async (...ids: string[]) => [
      ...(await find(
        namespace,
        new Set(ids.filter((id) => id.startsWith('account'))),
        new Set(ids.filter((id) => id.startsWith('metric'))),
      )),
    ]
  }

  it('are looked up once; what does not exist is asked again each time', async () => {
    const unknownOf = caching(1_000)
    expect(await unknownOf('account_1', 'account_2', 'metric_1')).to.deep.equal(['account_2'])
    asked = []
    expect(await unknownOf('account_1', 'account_2', 'metric_1')).to.deep.equal(['account_2'])
    expect(asked).to.deep.equal(['account_2'])
    existing.add('account_2')
    expect(await unknownOf('account_2')).to.deep.equal([])
  })

  it('are looked up again when more were seen than are cached', async () => {
    const unknownOf = caching(1)
    await unknownOf('account_1', 'metric_1')
    asked = []
    expect(await unknownOf('account_1', 'metric_1')).to.deep.equal([])
    expect(asked).to.deep.equal(['account_1'])
  })

  it('are forgotten when all processes are told to forget everything', async function () {
    const server = await useRedis(this)
    const redis = await openRedis(server.config, testLog)
    try {
      const purges = openPurges(redis)
      let listens = false
      purges.onPurge(() => (listens = true))
      await until(() => Promise.resolve(listens))
      const unknownOf = caching(1_000, purges)
      expect(await unknownOf('account_1')).to.deep.equal([])
      existing.clear()
      expect(await unknownOf('account_1')).to.deep.equal([])
      await server.client.publish(`${server.config.prefix}${NAMES.purges}`, 'everything')
      await until(async () => (await unknownOf('account_1')).length === 1)
    } finally {
      await redis.close()
      await closeRedis()
    }
  })
})
