import { hash, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { inNamespace, withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { idempotencyKeyRepository, KEY_FORM } from '../../../shared/postgres/idempotency-keys.ts'
import { failureOf } from '../../support/failure-of.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const ROUTE = 'POST /v2/events'
const BODY = Buffer.from('{"quantity":"1"}')
const sha256 = (text: string | Buffer) => hash('sha256', text, 'buffer')
const DIGEST = sha256('one of 1')
/** The times of two attempts, in microseconds. They differ so much that events without a time get different times. */
const [FIRST, LATER] = [1_700_000_000_000_001, 1_700_000_090_000_002]
const EVENT = `event_6553f100${'a'.repeat(24)}`

describe('an Idempotency-Key', () => {
  let db: TestDatabase
  const namespaces = [randomUUID(), randomUUID()]

  before(async () => {
    db = await createDatabase('idempotency_keys')
    await withTransaction(db.pool, async (client) => {
      for (const [n, namespaceId] of namespaces.entries())
        await companyRepository(client).insert({ id: randomUUID(), name: `${n}`, mode: 'live', namespaceId })
    })
  })
  after(() => db.close())

  const [NAMESPACE = '', OTHER = ''] = namespaces
  const keysIn = <T>(
    namespaceId: string,
    work: (keys: ReturnType<typeof idempotencyKeyRepository>) => Promise<T>,
  ) => inNamespace(db.pool, namespaceId, (client) => work(idempotencyKeyRepository(client)))
  const begin = (
    key: string,
    at: number,
    { namespaceId = NAMESPACE, route = ROUTE, digest = DIGEST, body = BODY } = {},
  ) => keysIn(namespaceId, (keys) => keys.begin(namespaceId, { route, key, digest }, body, at))
  const complete = (key: string, count = 1) =>
    keysIn(NAMESPACE, (keys) =>
      keys.complete(NAMESPACE, { route: ROUTE, key, digest: DIGEST }, { firstId: EVENT, count }),
    )
  const expectRefused = async (work: Promise<unknown>, code: string, message: RegExp) => {
    const err = await failureOf(work)
    expect(err).to.be.instanceOf(DomainError).with.property('code', code)
    expect((err as DomainError).message).to.match(message)
  }
  /** Inserts a key in the form of an earlier version. */
  const insertOld = (
    key: string,
    { route = ROUTE, digest = null as Buffer | null, isComplete = false } = {},
  ) =>
    inNamespace(db.pool, NAMESPACE, (client) =>
      client.query(
        `INSERT INTO idempotency_keys (namespace_id, route, key, first_used_at, digest, completed_at, form)
         VALUES ($1, $2, $3, to_timestamp(${FIRST} / 1e6), $4, CASE WHEN $5 THEN now() END, 1)`,
        [NAMESPACE, route, key, digest, isComplete],
      ),
    )
  const BEGUN = { at: FIRST, form: KEY_FORM.ofContent }

  describe('for work outside of the database', () => {
    it('gives a later attempt the time of the first if that did not complete, so that it makes the same events', async () => {
      expect(await begin('a', FIRST)).to.deep.equal(BEGUN)
      expect(await begin('a', LATER)).to.deep.equal(BEGUN)
      expect(await begin('a', LATER + 1, { body: Buffer.from('{ "quantity": "1" }') })).to.deep.equal(BEGUN)
    })

    it('is used up once the work is done, and says what that was', async () => {
      await begin('b', FIRST)
      await complete('b')
      await expectRefused(begin('b', LATER), 'conflict', new RegExp(`used before, for ${EVENT}$`))
      const digest = sha256('another content')
      const differs = new RegExp(`used before, for ${EVENT}, with another content: nothing of this request`)
      await expectRefused(begin('b', LATER, { digest }), 'conflict', differs)
      await begin('b, of many', FIRST)
      await complete('b, of many', 3)
      const ofMany = new RegExp(`used before, for 3 events, the first of them ${EVENT}$`)
      await expectRefused(begin('b, of many', LATER), 'conflict', ofMany)
    })

    it('is of one content, and of its namespace and route', async () => {
      await begin('c', FIRST)
      const digest = sha256('another content')
      await expectRefused(begin('c', LATER, { digest }), 'unprocessable', /another request has begun/)
      const now = { at: LATER, form: KEY_FORM.ofContent }
      expect(await begin('c', LATER, { route: 'POST /v2/events/batch' })).to.deep.equal(now)
      expect(await begin('c', LATER, { namespaceId: OTHER })).to.deep.equal(now)
    })

    it('gives attempts at once one time', async () => {
      const begun = await Promise.all(Array.from({ length: 8 }, (_, n) => begin('d', FIRST + n)))
      expect(new Set(begun.map(({ at }) => at))).to.have.property('size', 1)
    })

    it('that began before contents were compared goes on by the bytes of its body, in its own form', async () => {
      await insertOld('e', { digest: sha256(BODY) })
      expect(await begin('e', LATER)).to.deep.equal({ at: FIRST, form: KEY_FORM.ofBytes })
      const body = Buffer.from('{ "quantity": "1" }')
      await expectRefused(begin('e', LATER, { body }), 'unprocessable', /another request has begun/)
      await complete('e')
      // Other bytes may have the same content, so the answer does not mention the content.
      await expectRefused(begin('e', LATER, { body }), 'conflict', new RegExp(`for ${EVENT}$`))
    })

    it('that was done before keys named what they made is refused, and says that it is not known', async () => {
      await insertOld('f', { digest: sha256(BODY), isComplete: true })
      for (const body of [BODY, Buffer.from('{}')])
        await expectRefused(
          begin('f', LATER, { body }),
          'conflict',
          /this key was used before, by an earlier version of Tally, which did not record its resource$/,
        )
    })
  })

  describe('for work in the database', () => {
    const TEMPLATE = 'POST /v2/things/{id}/cancel'
    const use = (key: string, { id = 'a', digest = DIGEST, work = () => Promise.resolve() } = {}) =>
      keysIn(NAMESPACE, async (keys) => {
        const request = { route: `POST /v2/things/${id}/cancel`, key, digest }
        await keys.use(NAMESPACE, request, TEMPLATE)
        await work()
        await keys.nameResource(NAMESPACE, request, id)
      })

    it('is used once on a route, which the ids of its path are part of, and says what for', async () => {
      await use('a')
      await use('a', { id: 'b' })
      await expectRefused(use('a'), 'conflict', /used before, for a$/)
      await expectRefused(
        use('a', { digest: sha256('another') }),
        'conflict',
        /used before, for a, with another content: nothing of this request was done$/,
      )
    })

    it('stays free when the work fails', async () => {
      const work = () => Promise.reject(new Error('it failed'))
      expect(await failureOf(use('b', { work }))).to.have.property('message', 'it failed')
      await use('b')
    })

    it('waits for another that is using it: refused once that is done, and going on once that has failed', async () => {
      for (const fails of [false, true]) {
        let letGo: () => void = () => undefined
        const held = new Promise<void>((resolve) => (letGo = resolve))
        const key = `c ${fails}`
        let first: Promise<unknown> = Promise.resolve()
        await new Promise<void>((isUsing) => {
          const work = async () => {
            isUsing()
            await held
            if (fails) throw new Error('it failed')
          }
          first = use(key, { work }).catch((err: unknown) => err)
        })
        let isDone = false
        const second = use(key).finally(() => (isDone = true))
        second.catch(() => undefined) // looked at below
        await until(async () => {
          const { rowCount } = await db.pool.query(
            "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO idempotency_keys%' AND datname = current_database()",
          )
          return rowCount === 1
        })
        expect(isDone).to.equal(false)
        letGo()
        await first
        if (fails) await second
        else await expectRefused(second, 'conflict', /used before, for a$/)
      }
    })

    it('that an earlier version used on any path of the route is refused on all of them', async () => {
      await insertOld('d', { route: TEMPLATE, isComplete: true })
      for (const id of ['a', 'b'])
        await expectRefused(use('d', { id }), 'conflict', /by an earlier version of Tally/)
    })
  })
})
