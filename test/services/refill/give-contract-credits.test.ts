import { expect } from 'chai'
import fc from 'fast-check'
import { REFILL_POINTS, type RefillPoint } from '../../../services/refill/crash-points.ts'
import { giveContractCredits } from '../../../services/refill/give-contract-credits.ts'
import type { CreditLine } from '../../../shared/domain/billing/contract.ts'
import { creditsDue } from '../../../shared/domain/billing/contract-credits.ts'
import type { StoredContract } from '../../../shared/domain/billing/stored-contract.ts'
import { contractLineRepository } from '../../../shared/postgres/contract-lines.ts'
import { contractRepository } from '../../../shared/postgres/contracts.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { grantRepository } from '../../../shared/postgres/grants.ts'
import { lockBalances } from '../../../shared/postgres/locks/balance-lock.ts'
import { namespaceClockRepository } from '../../../shared/postgres/namespace-clocks.ts'
import { contractOf, creditLine, insertContractWorld } from '../../support/contract-rows.ts'
import { type ContractBody, contractStage } from '../../support/contract-stage.ts'
import { failureOf } from '../../support/failure-of.ts'
import { testLog } from '../../support/log.ts'
import { type RunningApi, startApi, type TestCaller } from '../../support/start-api.ts'
import { until } from '../../support/until.ts'

const SEED = 20_260_301
const DAY_S = 86_400
const ALL = 1_000

interface GrantBody {
  id: string
  account_id: string
  metric_id?: string
  currency?: string | null
  amount: string
  description: string
  contract_v1_id: string
  effective_at: number
  expires_at?: number
  status: string
}

interface GiveOptions {
  /** The present time in Unix seconds; by default that of the namespace. */
  now?: number
  reached?: (point: RefillPoint) => void
}

const CREDIT_POINTS = REFILL_POINTS.filter((point) => point.startsWith('credit-'))

const creditKey = (lineId: string, periodStartAt: number) => `${lineId}/${periodStartAt}`

/** Lists the written grants of a contract's lines. */
async function listWritten(db: PoolClient, { lines }: Pick<StoredContract, 'lines'>): Promise<Set<string>> {
  const { rows } = await db.query<{ line: string; at: string }>(
    `SELECT contract_line_id AS line, extract(epoch FROM period_start_at)::text AS at FROM contract_credits
      WHERE contract_line_id = ANY ($1)`,
    [lines.map(({ id }) => id)],
  )
  return new Set(rows.map(({ line, at }) => creditKey(line, Number(at))))
}

describe('credit of contracts', function () {
  this.timeout(120_000)
  let running: RunningApi

  before(async () => {
    running = await startApi('contract_credits')
  })
  after(() => running.stop())

  const utc = (text: string): number => Date.parse(`${text}Z`) / 1_000
  /** The last midnight, at which periods of a day begin if the contract is anchored at midnight. */
  const midnight = (): number => Math.floor(Date.now() / 1_000 / DAY_S) * DAY_S

  /** Gives the due credit of some namespaces, once. @returns how many grants it made */
  const give = async (
    callers: readonly TestCaller[],
    { now, reached = () => undefined }: GiveOptions = {},
  ): Promise<number> => {
    let given = 0
    const run = giveContractCredits({
      pool: running.pool,
      nowOf: (db, namespaceId) =>
        now === undefined
          ? namespaceClockRepository(db).now(namespaceId)
          : Promise.resolve(new Date(now * 1_000 + 999)),
      metrics: { credited: (grants) => (given += grants) },
      log: testLog,
      reached,
    })
    await run(new Set(callers.map(({ namespaceId }) => namespaceId)), new AbortController().signal)
    return given
  }

  const makeWorld = async () => {
    const caller = await running.newCaller()
    const { api, namespaceId } = caller
    const stage = contractStage(api)
    const account = await stage.account()
    const within = <T>(work: (db: PoolClient) => Promise<T>) => inNamespace(running.pool, namespaceId, work)
    return {
      ...caller,
      ...stage,
      accountId: account,
      within,
      give: (options: GiveOptions = {}) => give([caller], options),
      make: (some: object) => stage.contract({ account_id: account, ...some }),
      act: async ({ id }: ContractBody, verb: string, body: object = {}) => {
        const {
          status,
          text,
          body: answer,
        } = await api.post<ContractBody>(`/v2/contracts/${id}/${verb}`, body)
        expect(status, text).to.equal(200)
        return answer
      },
      /** By contract, in order of creation, which goes over the API's pages. */
      grants: async ({ id }: { id: string }): Promise<GrantBody[]> => {
        const all: GrantBody[] = []
        for (;;) {
          const after = all.length === 0 ? '' : `&starting_after=${all.at(-1)?.id ?? ''}`
          const page = await api.get<{ data: GrantBody[]; has_more: boolean }>(
            `/v2/grants?contract_v1_id=${id}&limit=100${after}`,
          )
          all.push(...page.body.data)
          if (!page.body.has_more) return all
        }
      },
      moveClock: async (now: number) => {
        const { status, text } = await api.request('PUT', '/v2/test/clock', { now }, {})
        expect(status, text).to.equal(200)
      },
    }
  }
  const timesOf = (grants: readonly GrantBody[]) => grants.map(({ effective_at }) => effective_at)
  const usd = (amount: string, some: object = {}) => ({ credit: { amount, currency: 'usd' }, ...some })

  it('is one grant a line and period, in full, effective when the piece begins', async () => {
    const world = await makeWorld()
    const metric = await world.metric()
    const contract = await world.make({
      anchor_at: utc('2026-01-31T12:00:00'),
      starts_at: utc('2026-02-10T08:00:00'),
      lines: [
        { credit: { amount: '10.50', currency: 'USD', expires: 'period_end' } },
        {
          credit: { amount: '0.000000000000000001', metric_id: metric },
          starts_at: utc('2026-03-01T00:00:00'),
        },
      ],
    })
    expect(await world.give({ now: utc('2026-02-10T07:59:59') })).to.equal(0)
    expect(await world.give({ now: utc('2026-03-31T12:00:00') })).to.equal(5)
    const text = (from: string, to: string) =>
      `Credit of contract ${contract.id} for the period from ${from}T12:00:00Z to ${to}T12:00:00Z.`
    const [january, february, march, april] = [
      '2026-01-31',
      '2026-02-28',
      '2026-03-31',
      '2026-04-30',
    ] as const
    const ofUsd = { currency: 'usd', amount: '10.5' }
    const ofMetric = { metric_id: metric, amount: '0.000000000000000001' }
    const boundary = (day: string) => utc(`${day}T12:00:00`)
    const wanted = [
      {
        ...ofUsd,
        effective_at: contract.starts_at,
        expires_at: boundary(february),
        description: text(january, february),
      },
      {
        ...ofUsd,
        effective_at: boundary(february),
        expires_at: boundary(march),
        description: text(february, march),
      },
      { ...ofMetric, effective_at: utc('2026-03-01T00:00:00'), description: text(february, march) },
      {
        ...ofUsd,
        effective_at: boundary(march),
        expires_at: boundary(april),
        description: text(march, april),
      },
      { ...ofMetric, effective_at: boundary(march), description: text(march, april) },
    ].map((one) => ({ ...one, account_id: world.accountId, contract_v1_id: contract.id }))
    const grants = await world.grants(contract)
    expect(grants.map(({ effective_at }) => effective_at)).to.deep.equal(
      timesOf(grants).toSorted((a, b) => a - b),
    )
    // Two grants of one second have no fixed order.
    const byText = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
    const shown = grants.map(
      ({
        currency,
        metric_id,
        amount,
        effective_at,
        expires_at,
        description,
        account_id,
        contract_v1_id,
      }) => ({
        ...(typeof currency === 'string' ? { currency } : { metric_id }),
        ...{ amount, effective_at },
        ...(expires_at !== undefined && { expires_at }),
        ...{ description, account_id, contract_v1_id },
      }),
    )
    expect(shown.toSorted(byText)).to.deep.equal(wanted.toSorted(byText))
    for (let again = 0; again < 3; again++)
      expect(await world.give({ now: utc('2026-04-30T11:59:59') })).to.equal(0)
    expect(await world.give({ now: utc('2026-04-30T12:00:00') })).to.equal(2)
    const { body } = await world.api.get<{ balance: string }>(
      `/v2/accounts/${world.accountId}/balance?metric_id=${metric}`,
    )
    expect(body.balance).to.equal('0.000000000000000003')
  })

  it('is told apart by where whole periods begin, whenever it was given: so a preview finds it', async () => {
    const world = await makeWorld()
    const { id } = await world.make({
      cadence: 'week',
      anchor_at: 0,
      starts_at: utc('2026-02-10T08:00:00'),
      lines: [usd('1'), usd('2', { starts_at: utc('2026-02-20T00:00:00') })],
    })
    const now = utc('2026-03-10T00:00:05')
    await world.give({ now: utc('2026-02-24T00:00:07') })
    await world.give({ now })
    const contract = (await world.within((db) =>
      contractRepository(db).find(world.namespaceId, id),
    )) as StoredContract
    const written = await world.within((db) => listWritten(db, contract))
    const due = contract.lines.flatMap((line) =>
      line.kind === 'credit'
        ? creditsDue(contract, line, now).map(({ periodStartAt }) => creditKey(line.id, periodStartAt))
        : [],
    )
    expect(written).to.deep.equal(new Set(due))
    expect(written.size).to.equal(8)
  })

  it('is given at once for all periods of a contract that starts in the past, oldest first', async () => {
    const world = await makeWorld()
    const start = midnight() - 700 * DAY_S
    const contract = await world.make({ cadence: 'day', starts_at: start, lines: [usd('1')] })
    expect(await world.give({ now: midnight() + 5 })).to.equal(701) // in two transactions
    const grants = await world.grants(contract)
    expect(timesOf(grants)).to.deep.equal(Array.from({ length: 701 }, (_, n) => start + n * DAY_S))
  })

  it('comes with a company’s clock that is moved, each with its own time, line by line together', async () => {
    const world = await makeWorld()
    const start = midnight() + DAY_S
    const contract = await world.make({
      cadence: 'day',
      starts_at: start,
      lines: [usd('1'), usd('2'), usd('3', { starts_at: start + 3_600 })],
    })
    expect(await world.give()).to.equal(0)
    await world.moveClock(start + 400 * DAY_S)
    expect(await world.give()).to.equal(3 * 401)
    const times = timesOf(await world.grants(contract))
    expect(times).to.deep.equal(times.toSorted((a, b) => a - b))
    const daily = Array.from({ length: 401 }, (_, n) => start + n * DAY_S)
    const third = [start + 3_600, ...daily.slice(1)]
    expect(times).to.deep.equal([...daily, ...daily, ...third].toSorted((a, b) => a - b))
    // Given credit stays, and is not given again when the clock returns to real time.
    await world.api.request('DELETE', '/v2/test/clock', undefined, {})
    expect(await world.give()).to.equal(0)
    await world.moveClock(start + 401 * DAY_S)
    expect(await world.give()).to.equal(3)
  })

  it('is given in full by lines that begin and end within a period, and not by those that are withdrawn', async () => {
    const world = await makeWorld()
    const start = midnight() + DAY_S
    const line = (amount: string, from: number, to?: number) =>
      usd(amount, { starts_at: start + from, ...(to !== undefined && { ends_at: start + to }) })
    const contract = await world.make({
      cadence: 'day',
      starts_at: start,
      ends_at: start + 2 * DAY_S + 60,
      lines: [
        line('1', 100, 200),
        line('2', 200, DAY_S),
        line('3', DAY_S - 1, DAY_S + 1),
        line('4', 5 * 3_600),
        line('5', 2 * DAY_S),
      ],
    })
    const withdrawn = contract.lines.find(({ starts_at }) => starts_at === start + 5 * 3_600)
    await world.act(contract, 'changes', { effective_at: start + 5 * 3_600, end: [withdrawn?.id] })
    expect(await world.give({ now: start + 99 })).to.equal(0)
    expect(await world.give({ now: start + 150 })).to.equal(1)
    expect(await world.give({ now: start + 9 * DAY_S })).to.equal(4)
    const given = (await world.grants(contract)).map(({ amount, effective_at }) => [
      amount,
      effective_at - start,
    ])
    expect(given).to.deep.equal([
      ['1', 100],
      ['2', 200],
      ['3', DAY_S - 1],
      ['3', DAY_S],
      ['5', 2 * DAY_S],
    ])
  })

  describe('beside a cancellation or a change', () => {
    /** Makes a contract that begins in five minutes, which is still in the future for the API. */
    const soon = async () => {
      const world = await makeWorld()
      const start = Math.floor(Date.now() / 1_000) + 300
      const contract = await world.make({
        cadence: 'day',
        starts_at: start - 10 * DAY_S,
        lines: [usd('1', { starts_at: start })],
      })
      return { ...world, start, contract }
    }

    it('is not given for a piece that was canceled before it began', async () => {
      const world = await soon()
      await world.act(world.contract, 'cancel', { mode: 'at', cancel_at: world.start })
      expect(await world.give({ now: world.start + DAY_S })).to.equal(0)
      // The cancellation is undone, so the credit is due.
      await world.act(world.contract, 'uncancel')
      expect(await world.give({ now: world.start })).to.equal(1)
      expect(await world.give({ now: world.start + DAY_S })).to.equal(1)
    })

    it('is given, however late, for a piece that began before it was canceled, and is not taken back', async () => {
      const world = await soon()
      await world.act(world.contract, 'cancel', { mode: 'at', cancel_at: world.start + 1 })
      expect(await world.give({ now: world.start + 5 * DAY_S })).to.equal(1)
      await world.act(world.contract, 'cancel', { mode: 'immediate' })
      const [grant, ...more] = await world.grants(world.contract)
      expect([grant?.effective_at, grant?.expires_at, more]).to.deep.equal([world.start, undefined, []])
    })

    it('does not wait for who cancels the contract, and heeds it afterwards', async () => {
      const world = await soon()
      const { namespaceId, contract, start } = world
      const other = await world.make({
        cadence: 'day',
        starts_at: start - DAY_S,
        lines: [usd('9', { starts_at: start })],
      })
      await world.within(async (db) => {
        const held = (await contractRepository(db).lock(namespaceId, contract.id)) as StoredContract
        expect(await world.give({ now: start })).to.equal(1) // of the other one
        const cancellation = { mode: 'at', reason: null, requestedAt: start } as const
        await contractRepository(db).setCancellation(namespaceId, held, start, cancellation)
        expect(await world.give({ now: start })).to.equal(0)
      })
      expect(await world.give({ now: start })).to.equal(0)
      expect(await world.grants(contract)).to.deep.equal([])
      expect(await world.grants(other)).to.have.length(1)
    })

    it('keeps who cancels waiting once it has begun, and stands', async () => {
      const world = await soon()
      const { namespaceId, contract, start, accountId } = world
      let giving = Promise.resolve(0)
      let canceling: Promise<unknown> = Promise.resolve()
      let isCanceled = false
      await world.within(async (db) => {
        await lockBalances(db, namespaceId, [{ accountId, metricId: 'usd' }])
        let isAtIt = false
        giving = world.give({ now: start, reached: (point) => (isAtIt ||= point === 'credit-claimed') })
        await until(() => Promise.resolve(isAtIt))
        canceling = world.act(contract, 'cancel', { mode: 'immediate' }).then(() => (isCanceled = true))
        await until(async () => {
          const { rows } = await db.query<{ waiting: string }>(
            "SELECT count(*) AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
          )
          return Number(rows[0]?.waiting) >= 2
        })
        expect(isCanceled).to.equal(false)
      })
      expect(await giving).to.equal(1)
      await canceling
      expect(timesOf(await world.grants(contract))).to.deep.equal([start])
      expect(await world.give({ now: start + DAY_S })).to.equal(0)
    })
  })

  it('is given once when four services give at once', async () => {
    const world = await makeWorld()
    const start = midnight() - 4 * DAY_S
    const contracts: ContractBody[] = []
    for (let n = 0; n < 9; n++)
      contracts.push(
        await world.make({
          cadence: 'day',
          starts_at: start,
          lines: Array.from({ length: 25 }, (_, line) => usd(String(line + 1))),
        }),
      )
    const now = midnight() + 5
    const given = await Promise.all([1, 2, 3, 4].map(() => world.give({ now })))
    given.push(await world.give({ now })) // the skipped credit
    expect(given.reduce((sum, one) => sum + one, 0)).to.equal(9 * 25 * 5)
    expect(given.filter((one) => one > 0).length).to.be.greaterThan(1)
    for (const contract of contracts) {
      const grants = await world.grants(contract)
      const keys = grants.map(({ amount, effective_at }) => `${amount} ${effective_at}`)
      expect([keys.length, new Set(keys).size]).to.deep.equal([25 * 5, 25 * 5])
    }
  })

  it('is given once even where a line has forgotten how far it is: the key decides', async () => {
    const world = await makeWorld()
    const start = midnight() - 3 * DAY_S
    const contract = await world.make({ cadence: 'day', starts_at: start, lines: [usd('1')] })
    expect(await world.give({ now: midnight() - 1 })).to.equal(3)
    await world.within((db) =>
      db.query('UPDATE contract_lines SET next_credit_at = starts_at WHERE namespace_id = $1', [
        world.namespaceId,
      ]),
    )
    expect(await world.give({ now: midnight() })).to.equal(1)
    expect(timesOf(await world.grants(contract))).to.deep.equal([0, 1, 2, 3].map((n) => start + n * DAY_S))
  })

  it('is given whole or not at all, wherever it breaks off', async () => {
    const world = await makeWorld()
    const start = midnight() - 3 * DAY_S
    for (const point of CREDIT_POINTS) {
      const contract = await world.make({ cadence: 'day', starts_at: start, lines: [usd('1'), usd('2')] })
      const reached: string[] = []
      const broken = world.give({
        now: midnight(),
        reached: (at) => {
          reached.push(at)
          if (at === point) throw new Error('broken off')
        },
      })
      expect(await failureOf(broken)).to.have.property('message', 'broken off')
      expect(reached).to.deep.equal(CREDIT_POINTS.slice(0, CREDIT_POINTS.indexOf(point) + 1))
      const isCommitted = point === 'credit-committed'
      expect(await world.grants(contract), point).to.have.length(isCommitted ? 8 : 0)
      expect(await world.give({ now: midnight() }), point).to.equal(isCommitted ? 0 : 8)
      expect(await world.grants(contract), point).to.have.length(8)
    }
  })

  it('goes to accounts and metrics that were archived: what uses them goes on', async () => {
    const world = await makeWorld()
    const metric = await world.metric()
    const start = midnight() - DAY_S
    const contract = await world.make({
      cadence: 'day',
      starts_at: start,
      lines: [{ credit: { amount: '1', metric_id: metric } }],
    })
    await world.api.create(`/v2/metrics/${metric}/archive`, {})
    await world.api.create(`/v2/accounts/${world.accountId}/archive`, {})
    expect(await world.give({ now: midnight() })).to.equal(2)
    expect(timesOf(await world.grants(contract))).to.deep.equal([start, start + DAY_S])
  })

  it('is each company’s own, by its own clock, and one that fails keeps no other waiting', async () => {
    const [ahead, behind] = [await makeWorld(), await makeWorld()]
    const start = midnight() + DAY_S
    const contracts = await Promise.all(
      [ahead, behind].map(({ make }) => make({ cadence: 'day', starts_at: start, lines: [usd('1')] })),
    )
    const [first, second] = contracts as [ContractBody, ContractBody]
    await ahead.moveClock(start + DAY_S)
    expect(await give([ahead, behind])).to.equal(2)
    expect(await ahead.grants(first)).to.have.length(2)
    expect(await behind.grants(second)).to.deep.equal([])
    expect(await ahead.grants(second)).to.deep.equal([])
    await behind.moveClock(start + DAY_S)
    const failing = giveContractCredits({
      pool: running.pool,
      nowOf: (db, namespaceId) =>
        namespaceId === ahead.namespaceId
          ? Promise.reject(new Error('no clock'))
          : namespaceClockRepository(db).now(namespaceId),
      metrics: { credited: () => undefined },
      log: testLog,
    })
    const only = new Set([ahead.namespaceId, behind.namespaceId])
    expect(await failureOf(failing(only, new AbortController().signal))).to.have.property(
      'message',
      'no clock',
    )
    expect(await behind.grants(second)).to.have.length(2)
  })

  it('is what was due at each time it was given, whatever became of contract and lines in between', async () => {
    const world = await makeWorld()
    const { namespaceId, within } = world
    const { account } = await within((db) => insertContractWorld(db, namespaceId))
    const hours = fc.integer({ min: 0, max: 120 })
    const line = fc.record({
      startsAt: hours,
      lasts: fc.option(fc.integer({ min: 1, max: 150 }), { nil: null, freq: 2 }),
      expires: fc.constantFrom('never' as const, 'period_end' as const),
    })
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ to: fc.constant('give' as const), after: fc.nat(60) }) },
      fc.record({ to: fc.constant('cancel' as const), after: fc.nat(30) }),
      fc.record({ to: fc.constant('uncancel' as const), after: fc.nat(9) }),
      fc.record({ to: fc.constant('end' as const), after: fc.nat(9), line: fc.nat(3) }),
    )
    const H = 3_600
    let given = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 1, maxLength: 4 }),
        hours,
        fc.array(step, { minLength: 1, maxLength: 8 }),
        async (ofLines, anchor, steps) => {
          const times = { cadence: 'day' as const, anchorAt: anchor * H, startsAt: 5 * H }
          let contract = await within((db) =>
            contractRepository(db).insert(
              namespaceId,
              contractOf(account, times),
              ofLines.map(({ startsAt, lasts, expires }) => {
                const endsAt = lasts === null ? null : (startsAt + lasts) * H
                return creditLine({ startsAt: startsAt * H, endsAt, expires })
              }),
            ),
          )
          const repository = <T>(work: (of: ReturnType<typeof contractRepository>) => Promise<T>) =>
            within((db) => work(contractRepository(db)))
          const wanted = new Map<string, number>()
          let now = 0
          for (const one of steps) {
            now += one.after * H
            const { cancelAt } = contract
            // Nothing that is over changes, and nothing changes in the past.
            if (one.to !== 'give' && cancelAt !== null && cancelAt <= now) continue
            if (one.to === 'cancel')
              contract = await repository((of) =>
                of.setCancellation(namespaceId, contract, now + 6 * H, {
                  mode: 'at',
                  reason: null,
                  requestedAt: now,
                }),
              )
            if (one.to === 'uncancel')
              contract = await repository((of) => of.setCancellation(namespaceId, contract, null, null))
            if (one.to === 'end') {
              const ending = contract.lines[one.line % contract.lines.length]
              if (ending === undefined || (ending.endsAt !== null && ending.endsAt <= now)) continue
              const at = Math.max(now, ending.startsAt)
              await within((db) => contractLineRepository(db).end(namespaceId, contract.id, [ending.id], at))
              contract = (await repository((of) => of.find(namespaceId, contract.id))) as StoredContract
            }
            if (one.to === 'give') {
              await world.give({ now })
              for (const of of contract.lines)
                for (const due of of.kind === 'credit' ? creditsDue(contract, of, now) : [])
                  wanted.set(creditKey(of.id, due.periodStartAt), due.effectiveAt)
            }
          }
          const written = await within((db) => listWritten(db, contract))
          expect(written).to.deep.equal(new Set(wanted.keys()))
          // There is no gap before the newest grant of a line.
          const ids = contract.lines.map(({ id }) => id)
          const newest = await repository((of) => of.newestCredits(namespaceId, ids))
          for (const of of contract.lines.filter(({ kind }) => kind === 'credit')) {
            const starts = [...wanted.keys()].flatMap((key) => {
              const [lineId, start] = key.split('/')
              return lineId === of.id ? [Number(start)] : []
            })
            expect(newest.get(of.id)).to.equal(starts.length === 0 ? undefined : Math.max(...starts))
            const upToNewest = creditsDue(contract, of as CreditLine, now).filter(
              ({ periodStartAt }) => periodStartAt <= (newest.get(of.id) ?? -Infinity),
            )
            expect(upToNewest.map(({ periodStartAt }) => periodStartAt)).to.deep.equal(
              starts.sort((a, b) => a - b),
            )
          }
          const { items } = await within((db) =>
            grantRepository(db).list(namespaceId, { contractId: contract.id }, { limit: ALL }),
          )
          const seconds = items.map(({ effectiveAt }) => effectiveAt.getTime() / 1_000)
          const ascending = (a: number, b: number) => a - b
          expect(seconds.toSorted(ascending)).to.deep.equal([...wanted.values()].toSorted(ascending))
          given += seconds.length
          // So that only later contracts have credit due.
          if (contract.cancelAt === null)
            await repository((of) =>
              of.setCancellation(namespaceId, contract, 0, { mode: 'at', reason: null, requestedAt: 0 }),
            )
        },
      ),
      { seed: SEED, numRuns: 60 },
    )
    expect(given).to.be.greaterThan(100)
  })
})
