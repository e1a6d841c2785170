import { expect } from 'chai'
import { parseAmount } from '../../../shared/amount/amount.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { grantRepository } from '../../../shared/postgres/grants.ts'
import { makeRefillWorld, NO_LIMITS, type RefillWorld } from '../../support/refill-world.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'

const SECOND_MS = 1_000
const nowS = () => Math.floor(Date.now() / SECOND_MS)

describe('a refill', function () {
  this.timeout(60_000)
  let running: RunningApi

  before(async () => {
    running = await startApi('refill_balance')
  })
  after(() => running.stop())

  const makeWorld = (amounts: object = {}) => makeRefillWorld(running, amounts)

  it('fills a balance below the minimum up to the target, to the last digit, and says what it was computed from', async () => {
    const world = await makeWorld({ minimum_balance: '6', target_balance: '20.5' })
    await world.grantMetric({ amount: '10' })
    await world.use('4')
    expect(await world.refill()).to.equal('enough')
    await world.use('0.000000000000000001')
    const before = nowS()
    expect(await world.refill()).to.equal('refilled')
    expect(await world.refill()).to.equal('enough')
    expect(await world.balance()).to.equal('20.5')
    const [made, ...more] = await world.refills()
    expect(more).to.deep.equal([])
    expect(made).to.include({
      account_id: world.account,
      metric_id: world.metric,
      occurrence: 1,
      amount: '14.500000000000000001',
      minimum_balance: '6',
      target_balance: '20.5',
      grant_total: '10',
      usage_total: '4.000000000000000001',
      balance: '5.999999999999999999',
    })
    const { body: grant } = await world.api.get<Record<string, unknown>>(`/v2/grants/${made?.grant_id ?? ''}`)
    expect(grant).to.include({ amount: '14.500000000000000001', status: 'active', metric_id: world.metric })
    expect(grant['effective_at']).to.be.within(before, nowS())
    expect(grant['expires_at']).to.equal(undefined)
    expect(grant['description']).to.equal(
      'Automatic refill: the balance was 5.999999999999999999, below the minimum of 6.',
    )
  })

  it('is numbered, and listed page by page in order', async () => {
    const world = await makeWorld()
    for (let n = 0; n < 5; n++) {
      await world.use('100')
      expect(await world.refill()).to.equal('refilled')
    }
    const all = await world.refills()
    expect(all.map(({ occurrence }) => occurrence)).to.deep.equal([1, 2, 3, 4, 5])
    const list = async (order: string) => {
      const listed: string[] = []
      for (;;) {
        const after = listed.length === 0 ? '' : `&starting_after=${listed.at(-1) ?? ''}`
        const { body } = await world.api.get<{ data: { grant_id: string }[]; has_more: boolean }>(
          `${world.path}/refills?limit=2${after}${order}`,
        )
        listed.push(...body.data.map(({ grant_id }) => grant_id))
        if (!body.has_more) return listed
      }
    }
    const ids = all.map(({ grant_id }) => grant_id)
    expect(await list('')).to.deep.equal(ids)
    expect(await list('&order=newest')).to.deep.equal(ids.toReversed())
    const other = await world.grantMetric({ amount: '1' })
    expect((await world.api.get(`${world.path}/refills?starting_after=${other}`)).status).to.equal(400)
  })

  it('counts the grants that are in force at the namespace’s now, and nothing else', async () => {
    const world = await makeWorld()
    const at = nowS()
    await world.grantMetric({ amount: '5', expires_at: at + 100 })
    await world.grantMetric({ amount: '1000', effective_at: at + 200, expires_at: at + 300 })
    await world.grant({ currency: 'usd', amount: '1000' })
    const voided = await world.grantMetric({ amount: '1000' })
    const archived = await world.grantMetric({ amount: '1000' })
    expect(await world.refill()).to.equal('enough')
    await world.api.post(`/v2/grants/${voided}/void`, {})
    expect(await world.refill()).to.equal('enough')
    await world.api.post(`/v2/grants/${archived}/archive`, {})
    const later = (seconds: number) => ({ now: () => new Date((at + seconds) * SECOND_MS + 700) })
    expect(await world.refill(later(0))).to.equal('refilled') // 45
    expect(await world.refill(later(99))).to.equal('enough')
    await world.patch({ minimum_balance: '46' })
    expect(await world.refill(later(100))).to.equal('refilled') // 5
    expect(await world.refill(later(299))).to.equal('enough')
    await world.use('1000')
    expect(await world.refill(later(250))).to.equal('enough')
    expect(await world.refill(later(300))).to.equal('refilled')
    expect((await world.refills()).map(({ amount, effective_at }) => [amount, effective_at])).to.deep.equal([
      ['45', at],
      ['5', at + 100],
      ['1000', at + 300],
    ])
  })

  it('follows usage that comes late, is corrected in either direction, is voided or taken back', async () => {
    const world = await makeWorld()
    await world.grantMetric({ amount: '50' })
    const event = await world.use('40')
    expect(await world.refill()).to.equal('enough') // 10
    const more = await world.correct(event, { quantity: '40.5' })
    expect(await world.refill()).to.equal('refilled') // 9.5 -> 50
    const less = await world.correct(more, { quantity: '1' })
    expect(await world.refill()).to.equal('enough')
    expect(await world.balance()).to.equal('89.5') // the returned amount stays
    await world.correct(less, { voided: true })
    expect(await world.balance()).to.equal('90.5')
    await world.store({ source: world.metric, quantity: '85', occurredAt: 1_650_000_000 })
    expect(await world.refill()).to.equal('refilled') // 5.5 -> 50
    await world.use('-7')
    await world.use('47')
    expect(await world.refill()).to.equal('enough') // 10
    expect((await world.refills()).map(({ amount }) => amount)).to.deep.equal(['40.5', '44.5'])
  })

  it('waits while it is paused or its account or metric is archived, and comes when they go on', async () => {
    const world = await makeWorld()
    const pairs: [() => Promise<unknown>, () => Promise<unknown>][] = [
      [() => world.patch({ is_active: false }), () => world.patch({ is_active: true })],
      ...[`accounts/${world.account}`, `metrics/${world.metric}`].map(
        (target): [() => Promise<unknown>, () => Promise<unknown>] => [
          () => world.api.post(`/v2/${target}/archive`, {}),
          () => world.api.post(`/v2/${target}/unarchive`, {}),
        ],
      ),
    ]
    for (const [stop, goOn] of pairs) {
      await stop()
      await world.use('100')
      expect(await world.refill()).to.equal('not_now')
      await goOn()
      expect(await world.refill()).to.equal('refilled')
      expect(await world.balance()).to.equal('50')
    }
    expect(await world.refills()).to.have.length(3)
  })

  it('is held back a moment after the last one, and after too many within a day, by real time', async () => {
    const world = await makeWorld()
    const now = () => new Date('2031-01-01')
    const refillAfterUse = async (intervalMs: number, perDayMax: number) => {
      await world.use('100')
      return world.refillOnce({ limits: { intervalMs, perDayMax }, now })
    }
    const age = (hours: number) =>
      world.change(`UPDATE refills SET created_at = created_at - $1 * interval '1 hour'`, [hours])
    expect(await refillAfterUse(60_000, 2)).to.deep.equal({ kind: 'refilled' })
    const held = await refillAfterUse(60_000, 2)
    if (held.kind !== 'too_soon') throw new Error(held.kind)
    expect(held.waitMs).to.be.within(30_000, 60_000)
    expect(await refillAfterUse(0, 2)).to.deep.equal({ kind: 'refilled' })
    expect(await refillAfterUse(0, 2)).to.deep.equal({ kind: 'day_full' })
    await age(23.9)
    expect(await refillAfterUse(60_000, 2)).to.deep.equal({ kind: 'day_full' })
    await age(0.2)
    expect(await refillAfterUse(60_000, 2)).to.deep.equal({ kind: 'refilled' })
    // A balance that needs no refill is not delayed.
    expect(await world.refill({ now, limits: { intervalMs: 60_000, perDayMax: 1 } })).to.equal('enough')
  })

  it('is refused when what is missing has more digits than a grant can have, and nothing is written', async () => {
    const world = await makeWorld({ minimum_balance: '1', target_balance: '99999999999999999999' })
    await world.use('1')
    expect(await world.refill()).to.equal('too_large')
    expect(await world.refills()).to.deep.equal([])
    expect(await world.balance()).to.equal('-1')
    await world.use('-1')
    expect(await world.refill()).to.equal('refilled')
    expect(await world.balance()).to.equal('99999999999999999999')
    const sums = await makeWorld()
    await sums.use('99999999999999999999.999999999999999999')
    await sums.use('99999999999999999999.999999999999999999')
    expect(await sums.refill()).to.equal('too_large')
  })

  it('is not made again by a process whose clock is behind, and is not there before a test clock that was taken back', async () => {
    const world = await makeWorld()
    const at = Date.now()
    const withNow = (offsetMs: number) => ({ now: () => new Date(at + offsetMs) })
    expect(await world.refill(withNow(30_000))).to.equal('refilled')
    expect(await world.refill(withNow(0))).to.equal('enough')
    expect(await world.refill(withNow(-3_600_000))).to.equal('refilled')
  })

  it('is of its own namespace', async () => {
    const [mine, other] = [await makeWorld(), await makeWorld()]
    expect((await mine.refillOnce({}, other.key)).kind).to.equal('not_now')
    expect((await mine.api.get(`${other.path}/refills`)).text).to.equal('not found')
    expect(await mine.refill()).to.equal('refilled')
    expect(await other.refills()).to.deep.equal([])
  })

  describe('among others at the same time', () => {
    /** Stops a refill after it has read usage, so that a test can act between its read and its commit. */
    const stopAfterReading = (world: RefillWorld) => {
      let goOn: () => void = () => undefined
      const may = new Promise<void>((resolve) => (goOn = resolve))
      let hasRead: () => void = () => undefined
      const read = new Promise<void>((resolve) => (hasRead = resolve))
      const outcome = world.refill({
        usage: {
          async sumByAccount(...args) {
            const usage = await world.sumByAccount(...args)
            hasRead()
            await may
            return usage
          },
        },
      })
      return { read, outcome, goOn }
    }
    const isWaiting = async (work: Promise<unknown>): Promise<boolean> => {
      const done = await Promise.race([
        work.then(() => true),
        new Promise<boolean>((resolve) =>
          setTimeout(() => {
            resolve(false)
          }, 300),
        ),
      ])
      return !done
    }
    const timeOf = async (world: RefillWorld, statement: string, values: unknown[] = []): Promise<number> => {
      const { rows } = await inNamespace(running.pool, world.namespaceId, (db) =>
        db.query<{ at: Date }>(statement, values),
      )
      return rows[0]?.at.getTime() ?? NaN
    }
    const refilledAt = (world: RefillWorld) => timeOf(world, 'SELECT max(created_at) AS at FROM refills')

    it('is made once, however many try', async () => {
      const world = await makeWorld()
      for (let n = 1; n <= 5; n++) {
        await world.use('100')
        const outcomes = await Promise.all(Array.from({ length: 8 }, () => world.refill()))
        expect(outcomes.filter((kind) => kind === 'refilled')).to.have.length(1)
        expect(await world.refills()).to.have.length(n)
        expect(await world.balance()).to.equal('50')
      }
    })

    it('is not made by one that read before another one was made', async () => {
      const world = await makeWorld()
      const slow = stopAfterReading(world)
      await slow.read
      const outcome = await world.refill()
      slow.goOn()
      expect([outcome, await slow.outcome].sort()).to.deep.equal(['not_now', 'refilled'])
      expect(await world.balance()).to.equal('50')
    })

    it('keeps a pause waiting, and is not made after it', async () => {
      const world = await makeWorld()
      const slow = stopAfterReading(world)
      await slow.read
      const pause = world.patch({ is_active: false })
      expect(await isWaiting(pause)).to.equal(true)
      slow.goOn()
      expect(await slow.outcome).to.equal('refilled')
      await pause
      const pausedAt = await timeOf(world, 'SELECT updated_at AS at FROM refill_configurations')
      expect(pausedAt).to.be.at.least(await refilledAt(world))
      await world.use('100')
      expect(await world.refill()).to.equal('not_now')
    })

    it('keeps grants, voids and archivings of its balance waiting, and no others', async () => {
      const world = await makeWorld()
      const debits = [await world.grantMetric({ amount: '-5' }), await world.grantMetric({ amount: '-6' })]
      const slow = stopAfterReading(world)
      await slow.read
      await world.grant({ currency: 'usd' })
      const changes = [
        world.grantMetric({ amount: '7' }),
        world.api.post(`/v2/grants/${debits[0] ?? ''}/void`, {}),
        world.api.post(`/v2/grants/${debits[1] ?? ''}/archive`, {}),
      ]
      for (const change of changes) expect(await isWaiting(change)).to.equal(true)
      slow.goOn()
      expect(await slow.outcome).to.equal('refilled')
      await Promise.all(changes)
      const changedAt = await timeOf(
        world,
        `SELECT least(min(voided_at), min(archived_at), min(created_at) FILTER (WHERE amount = 7)) AS at FROM grants`,
      )
      expect(changedAt).to.be.at.least(await refilledAt(world))
      expect((await world.refills())[0]).to.include({ grant_total: '-11', amount: '61' })
    })

    it('counts a grant that is being made when it begins', async () => {
      const world = await makeWorld()
      let refill: Promise<string> | undefined
      await inNamespace(running.pool, world.namespaceId, async (db) => {
        await grantRepository(db).insert(world.namespaceId, {
          id: newId('grant'),
          accountId: world.account,
          source: world.metric,
          amount: parseAmount('30'),
          description: null,
          contractId: null,
          effectiveAt: new Date(0),
          expiresAt: null,
        })
        refill = world.refill()
        expect(await isWaiting(refill)).to.equal(true)
      })
      expect(await refill).to.equal('enough')
    })

    it('adds up with grants and voids that are made all the time', async () => {
      const world = await makeWorld({ minimum_balance: '1000', target_balance: '2000' })
      const grants: string[] = []
      const change = async (n: number) => {
        if (n % 3 === 2) await world.api.post(`/v2/grants/${grants[n % grants.length] ?? ''}/void`, {})
        else grants.push(await world.grantMetric({ amount: n % 2 === 0 ? '300' : '-200' }))
      }
      for (let round = 0; round < 12; round++) {
        await world.use('700')
        await Promise.all([
          ...Array.from({ length: 3 }, () => world.refill({ limits: NO_LIMITS })),
          ...Array.from({ length: 4 }, (_, n) => change(round * 4 + n)),
        ])
      }
      await world.refill()
      // Checks each refill by the times of the others: refills that were made before and had not ended were in force.
      const { rows } = await inNamespace(running.pool, world.namespaceId, (db) =>
        db.query<{ seen: string; due: string }>(`
          SELECT r.grant_total::text AS seen, (
            SELECT coalesce(sum(g.amount), 0)::numeric(60, 18)::text FROM grants AS g
            WHERE g.created_at < r.created_at AND g.grant_id <> r.grant_id
              AND (g.voided_at IS NULL OR g.voided_at > r.created_at)) AS due
          FROM refills AS r`),
      )
      expect(rows.length).to.be.greaterThan(3)
      for (const { seen, due } of rows) expect(Number(seen)).to.equal(Number(due))
    })
  })
})
