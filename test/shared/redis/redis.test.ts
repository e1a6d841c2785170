import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { createLogger, type Logger } from '../../../shared/logging/logger.ts'
import { openRedis, type Redis } from '../../../shared/redis/redis.ts'
import { closeRedis, type OwnRedis, startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const TIMEOUT_MS = 100

describe('a connection to Redis', function () {
  this.timeout(60_000)
  let server: OwnRedis
  let redis: Redis
  let lines: string[]
  let log: Logger

  before(async function () {
    server = await startRedis(this)
  })
  after(closeRedis)
  beforeEach(async () => {
    lines = []
    log = createLogger('info', { write: (line) => lines.push(line) })
    redis = await openRedis({ ...server.config, timeoutMs: TIMEOUT_MS }, log)
  })
  afterEach(() => redis.close())

  const ask = async () => {
    const startedAt = performance.now()
    const isWell = await redis
      .run((client) => client.set(`${redis.prefix}x`, '1'))
      .then(
        () => true,
        () => false,
      )
    return { isWell, ms: performance.now() - startedAt }
  }
  const back = () => until(async () => (await ask()).isWell)

  for (const fault of ['paused', 'killed'] as const)
    it(`costs one time limit each pause while Redis is ${fault}, is logged once, and goes on by itself`, async () => {
      expect((await ask()).isWell).to.equal(true)
      if (fault === 'paused') await server.pause()
      else await server.kill()
      const startedAt = performance.now()
      const answers = []
      while (performance.now() - startedAt < 3_000) {
        answers.push(await ask())
        await sleep(1)
      }
      expect(answers.some(({ isWell }) => isWell)).to.equal(false)
      expect(Math.max(...answers.map(({ ms }) => ms))).to.be.lessThan(TIMEOUT_MS + 60)
      const slow = answers.filter(({ ms }) => ms > TIMEOUT_MS / 2)
      expect(slow.length).to.be.at.most(4)
      expect(answers.length).to.be.greaterThan(500)
      if (fault === 'paused') server.goOn()
      else await server.start()
      await back()
      const said = lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
      expect(said).to.deep.equal([
        'Redis is away: each process counts for itself until it is back',
        'Redis is back',
      ])
    })

  const goOn = async () => {
    server.goOn()
    await Promise.resolve()
  }
  for (const [state, fail, mend] of [
    ['away', () => server.kill(), () => server.start()],
    ['standing still', () => server.pause(), goOn],
  ] as const)
    it(`opens while Redis is ${state}, says so, and finds it later`, async () => {
      await fail()
      const said: string[] = []
      const startedAt = performance.now()
      const other = await openRedis(server.config, createLogger('warn', { write: (line) => said.push(line) }))
      expect(performance.now() - startedAt).to.be.lessThan(2_000)
      await mend()
      await until(() =>
        other
          .run((client) => client.get('x'))
          .then(
            () => true,
            () => false,
          ),
      )
      await other.close()
      expect(said).to.have.length(1)
    })

  it('hears messages, and says when it may have missed some: at first, and after Redis was away', async () => {
    const heard: string[] = []
    redis.listen(
      'channel',
      (message) => heard.push(message),
      () => heard.push('gap'),
    )
    const say = (message: string) => redis.run((client) => client.publish(`${redis.prefix}channel`, message))
    await until(() => Promise.resolve(heard.includes('gap')))
    await say('one')
    await until(() => Promise.resolve(heard.includes('one')))
    await server.kill()
    await server.start()
    await until(() => Promise.resolve(heard.length === 3))
    await back()
    await say('two')
    await until(() => Promise.resolve(heard.length === 4))
    expect(heard).to.deep.equal(['gap', 'one', 'gap', 'two'])
  })

  it('takes a value of another kind for an error of that command alone', async () => {
    await server.client.lpush(`${redis.prefix}list`, 'x')
    for (let n = 0; n < 3; n++)
      expect(
        await redis.run((client) => client.get(`${redis.prefix}list`)).catch((err: unknown) => String(err)),
      ).to.contain('WRONGTYPE')
    expect((await ask()).isWell).to.equal(true)
    expect(lines).to.deep.equal([])
  })

  it('logs in, and goes without Redis when it is not let in, without telling the password', async function () {
    const password = 'p@ss/w:rd'
    const guarded = await startRedis(this, '--requirepass', password)
    const urlWith = (given: string) => guarded.url.replace('//', `//:${encodeURIComponent(given)}@`)
    const open = (given: string) => openRedis({ ...guarded.config, url: urlWith(given) }, log)
    const [friend, stranger] = [await open(password), await open('n0t-it')]
    expect(await friend.run((client) => client.get('x'))).to.equal(null)
    expect(await stranger.run((client) => client.get('x')).catch(() => 'refused')).to.equal('refused')
    expect(lines).to.have.length(1)
    expect(lines[0])
      .to.match(/WRONGPASS|NOAUTH|auth/i)
      .and.not.to.contain('n0t-it')
    await Promise.all([friend.close(), stranger.close()])
  })
})
