import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { randomInteger, seededRandom } from '../../../clients/reporter/simulate/seeded-random.ts'
import { correctUsage } from '../../../services/gateway/correct-usage.ts'
import { parseAmount } from '../../../shared/amount/amount.ts'
import { newApiKey } from '../../../shared/domain/api-key.ts'
import { newId } from '../../../shared/domain/ids.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { completeUpTo, usageCompleteUpTo } from '../../../shared/postgres/complete-up-to.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inEveryNamespace, inNamespace, withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { eventRevisionRepository } from '../../../shared/postgres/event-revisions.ts'
import { grantRepository } from '../../../shared/postgres/grants.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'
import { insertContractWorld } from '../../support/contract-rows.ts'
import { insertKey } from '../../support/insert-key.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { makeReport } from '../../support/usage-event.ts'

const NAMESPACE = randomUUID()
const OTHER = randomUUID()
/** The bound of an event log that is completely loaded. */
const ALL_LOADED = 4e15
const SECOND = 1_000_000
/** A time after the start of all grants, in Unix seconds. */
const LATER_S = 4_000_000_000
const SEED = process.env['FAULT_SEED'] ?? '0135274d'

describe('up to when everything is known', function () {
  this.timeout(60_000)
  let db: TestDatabase
  let account: string
  let keyId: string

  before(async () => {
    db = await createDatabase('known_up_to')
    const [company, other] = [randomUUID(), randomUUID()]
    await withTransaction(db.pool, async (client) => {
      const companies = companyRepository(client)
      await companies.insert({ id: company, name: 'x', mode: 'live', namespaceId: NAMESPACE })
      await companies.insert({ id: other, name: 'y', mode: 'live', namespaceId: OTHER })
    })
    keyId = await insertKey(db.pool, { companyId: company, key: newApiKey('live') })
    account = (await within((client) => insertContractWorld(client, NAMESPACE))).account
  })
  after(() => db.close())

  const within = <T>(work: (client: PoolClient) => Promise<T>): Promise<T> =>
    inNamespace(db.pool, NAMESPACE, work)
  const upTo = (loadedUpTo = ALL_LOADED, namespaceId = NAMESPACE): Promise<Micros> =>
    inNamespace(db.pool, namespaceId, (client) => completeUpTo(client, namespaceId, loadedUpTo))
  const upToInAll = (loadedUpTo = ALL_LOADED): Promise<Micros> =>
    inEveryNamespace(db.pool, (client) => usageCompleteUpTo(client, loadedUpTo))
  const give = (client: PoolClient) =>
    grantRepository(client).insert(NAMESPACE, {
      id: newId('grant'),
      accountId: account,
      source: 'usd',
      amount: parseAmount('1'),
      description: null,
      contractId: null,
      effectiveAt: new Date(0),
      expiresAt: null,
    })
  const timeOf = async (column: 'created_at' | 'voided_at', id: string): Promise<Micros> => {
    const { rows } = await within((client) =>
      client.query<{ at: string }>(
        `SELECT (extract(epoch FROM ${column}) * 1000000)::bigint AS at FROM grants WHERE grant_id = $1`,
        [id],
      ),
    )
    return Number(rows[0]?.at)
  }

  /** A transaction that stays open after its work. */
  async function held<T>(work: (client: PoolClient) => Promise<T>) {
    let commit: () => void = () => undefined
    const released = new Promise<void>((resolve) => (commit = resolve))
    let done: Promise<T> | undefined
    const result = await new Promise<T>((resolve, reject) => {
      done = within(async (client) => {
        const made = await work(client)
        resolve(made)
        await released
        return made
      })
      done.catch(reject)
    })
    return {
      result,
      async commit() {
        commit()
        await done
      },
    }
  }

  it('lies before what the event log has not loaded', async () => {
    expect(await upTo(5 * SECOND)).to.equal(5 * SECOND)
  })

  it('follows the clock of the database', async () => {
    const before = Date.now() * 1_000
    expect(await upTo()).to.be.within(before - 3 * SECOND, before + SECOND)
  })

  it('lies before a grant that is not committed yet, and after it once it is', async () => {
    const grant = await held(give)
    await sleep(1_200)
    const meanwhile = await upTo()
    await grant.commit()
    const at = await timeOf('created_at', grant.result.id)
    expect(meanwhile).to.be.at.most(at)
    await until(async () => (await upTo()) > at)
  })

  it('lies before a void that is not committed yet', async () => {
    const { id } = await within(give)
    const voiding = await held((client) => grantRepository(client).void(NAMESPACE, id))
    await sleep(1_200)
    const meanwhile = await upTo()
    await voiding.commit()
    expect(meanwhile).to.be.at.most(await timeOf('voided_at', id))
  })

  it('lies before whatever a transaction may write that has begun', async () => {
    const begun = await held((client) => client.query('SELECT'))
    const second = await upTo()
    await sleep(1_500)
    expect(await upTo()).to.be.within(second, second + SECOND)
    await begun.commit()
    await until(async () => (await upTo()) > second + SECOND)
  })

  describe('with corrections', () => {
    const correct = async (clock: () => Micros, isSent: boolean, sentAt: () => Micros = clock) => {
      const report = makeReport({ namespaceId: NAMESPACE, accountId: account, acceptedAt: 1 })
      const [event] = await correctUsage({
        pool: db.pool,
        findStored: () => Promise.resolve(new Map<string, UsageEvent>([[report.id, report]])),
        sender: {
          send: () => Promise.resolve(),
          markSent: (revisions) =>
            isSent
              ? within((client) => eventRevisionRepository(client).markSent(NAMESPACE, revisions, sentAt()))
              : Promise.resolve(),
        },
        clock,
        log: testLog,
      })({
        caller: { keyId, companyId: '', namespaceId: NAMESPACE, mode: 'live', permissions: ['write:all'] },
        corrections: [{ event_id: report.id, void: true }],
        body: Buffer.alloc(0),
        label: undefined,
      })
      return event as UsageEvent & { correctedAt: Micros }
    }
    const forget = () =>
      within((client) => client.query('UPDATE event_revisions SET sent_at = to_timestamp(0)'))
    afterEach(forget)
    const now = () => Date.now() * 1_000

    it('lies before one that was not sent, of this namespace alone', async () => {
      const { correctedAt } = await correct(now, false)
      await until(async () => (await upTo(ALL_LOADED, OTHER)) > correctedAt)
      expect(await upTo()).to.equal(correctedAt)
      await forget()
      expect(await upTo()).to.be.greaterThan(correctedAt)
    })

    it('lies before one of any namespace, for all of them together', async () => {
      const { correctedAt } = await correct(now, false)
      await until(async () => (await upTo(ALL_LOADED, OTHER)) > correctedAt)
      expect(await upToInAll()).to.equal(correctedAt)
      expect(await upToInAll(5 * SECOND)).to.equal(5 * SECOND)
      await forget()
      expect(await upToInAll()).to.be.greaterThan(correctedAt)
    })

    it('lies before one that was sent, until the event log is loaded so far', async () => {
      const { correctedAt } = await correct(now, true)
      await until(async () => (await upTo()) > correctedAt)
      // The log may have a later time of the correction, and nothing else shows that it is not loaded.
      expect(await upTo(correctedAt + SECOND / 2)).to.equal(correctedAt)
      expect(await upTo(correctedAt + 5 * SECOND)).to.be.greaterThan(correctedAt)
    })

    it('lies before one that was sent while acceptances are ahead of the clocks, until it is loaded', async () => {
      const ahead = now() + 3_600 * SECOND
      const { correctedAt } = await correct(now, true, () => ahead)
      await until(async () => (await upTo(ALL_LOADED, OTHER)) > correctedAt)
      expect(await upTo(ahead)).to.equal(correctedAt)
      expect(await upTo(ahead + 5 * SECOND)).to.be.greaterThan(correctedAt)
    })

    it('is never earlier than its transaction, however late the clock of the gateway is', async () => {
      const before = await upTo()
      const { correctedAt } = await correct(() => 5, true)
      expect(correctedAt).to.be.at.least(before)
    })
  })

  it('is true for good: what was made before a time is the same whenever it is asked for', async () => {
    const random = seededRandom(SEED)
    const grants: string[] = []
    let writing = true
    const write = async () => {
      while (writing) {
        await within(async (client) => {
          const one = grants[randomInteger(random, grants.length * 2 + 1)]
          if (one === undefined) grants.push((await give(client)).id)
          else await grantRepository(client).void(NAMESPACE, one)
          // Longer than the margin for a database clock that is set back.
          await sleep(randomInteger(random, 8) === 0 ? 1_800 : 30)
        })
      }
    }
    const writers = [write(), write()]
    const told: { upTo: Micros; credit: string }[] = []
    const creditAt = async (client: PoolClient, upTo: Micros) => {
      const of = { accountId: account, currency: 'usd', before: LATER_S }
      const [credit = []] = await grantRepository(client).listCredit(NAMESPACE, [of], upTo / SECOND)
      return credit
    }
    const shown = (credit: Awaited<ReturnType<typeof creditAt>>) =>
      JSON.stringify(credit.map(({ id, voidedAt }) => [id, voidedAt]).sort())
    const states = () => new Set(told.map(({ credit }) => credit)).size
    while (states() < 6) {
      await within(async (client) => {
        const upTo = await completeUpTo(client, NAMESPACE, ALL_LOADED)
        told.push({ upTo, credit: shown(await creditAt(client, upTo)) })
      })
      await sleep(randomInteger(random, 50))
    }
    writing = false
    await Promise.all(writers)
    for (const { upTo, credit } of told)
      expect(shown(await within((client) => creditAt(client, upTo))), `${upTo}`).to.equal(credit)
  })
})
