import { expect } from 'chai'
import fc from 'fast-check'
import { NotFoundError } from '../../../clients/sdk/src/core/api-errors.ts'
import {
  type BalanceCheckOptions,
  balanceChecks,
  type UsageWatcher,
} from '../../../clients/sdk/src/core/balance-checks/balance-checks.ts'
import { ConnectionError } from '../../../clients/sdk/src/core/errors.ts'
import { failureOf } from '../../support/failure-of.ts'
import { scriptedClient, type Step } from './scripted-client.ts'

const ACCOUNT = `account_${'a'.repeat(32)}`
const METRIC = `metric_${'b'.repeat(32)}`
const QUESTION = { account: ACCOUNT, metric: METRIC }

/** Checks of a Tally that gives these balances, one after the other, on a clock that the test sets. */
function stage(steps: readonly Step[], options: BalanceCheckOptions = {}) {
  let now = 0
  let watcher: UsageWatcher | undefined
  const reporter = { watch: (given: UsageWatcher) => (watcher = given) }
  const { tally, requests } = scriptedClient(steps, { maxRetries: 0 })
  const checks = balanceChecks(tally, { ...options, reporter }, () => now)
  return {
    requests,
    check: (more: object = {}) => checks.check({ ...QUESTION, ...more }),
    forget: () => {
      checks.forget(ACCOUNT)
    },
    pass: (ms: number) => {
      now += ms
    },
    add: (quantity: string) => watcher?.added({ ...QUESTION, quantity }),
    settle: (oldestUnsentAgeMs = 0) => watcher?.settled(oldestUnsentAgeMs),
  }
}

const balance = (value: string): Step => ({ body: { balance: value } })

describe('checks of balances', () => {
  it('ask Tally once while an answer is young, more briefly when it denies', async () => {
    const { check, pass, requests } = stage([balance('5'), balance('0.5'), balance('7')])
    expect(await check()).to.deep.equal({ allowed: true, balance: '5', ageMs: 0, from: 'tally' })
    pass(2_000)
    expect(await check()).to.deep.equal({ allowed: true, balance: '5', ageMs: 2_000, from: 'cache' })
    pass(1)
    expect(await check()).to.deep.equal({ allowed: false, balance: '0.5', ageMs: 0, from: 'tally' })
    pass(1_000)
    expect(await check()).to.deep.equal({ allowed: false, balance: '0.5', ageMs: 1_000, from: 'cache' })
    pass(1)
    expect(await check()).to.deep.equal({ allowed: true, balance: '7', ageMs: 0, from: 'tally' })
    expect(requests.map(({ path, query }) => [path, query])).to.deep.equal(
      Array(3).fill([`/v2/accounts/${ACCOUNT}/balance`, { metric_id: METRIC }]),
    )
  })

  it('compare exactly with what must be left, and tell balances apart', async () => {
    const { check, requests } = stage([balance('0.000000000000000002')])
    expect((await check({ atLeast: '0.000000000000000002' })).allowed).to.equal(true)
    expect((await check({ atLeast: '0.000000000000000003' })).allowed).to.equal(false)
    expect((await check({ atLeast: 0 })).allowed).to.equal(true)
    await check({ metric: undefined, currency: 'usd' })
    await check({ metric: undefined, currency: 'USD' })
    expect(requests.map(({ query }) => query)).to.deep.equal([{ metric_id: METRIC }, { currency: 'usd' }])
    expect(await failureOf(check({ currency: 'usd' }))).to.be.instanceOf(TypeError)
    expect(await failureOf(check({ atLeast: 0.1 }))).to.be.instanceOf(TypeError)
  })

  it('share a request, look up names once, and ask anew when an account was forgotten', async () => {
    const { check, forget, requests } = stage([balance('5'), balance('6')])
    const both = await Promise.all([check(), check()])
    expect(both.map(({ from }) => from)).to.deep.equal(['tally', 'tally'])
    expect(requests).to.have.length(1)
    const before = check()
    forget()
    expect((await before).balance).to.equal('5')
    expect((await check()).balance).to.equal('6')

    const named = stage([
      (request) => ({ body: request.path.endsWith('balance') ? { balance: '5' } : { id: ACCOUNT } }),
    ])
    const names = { account: { externalId: 'acme' }, metric: { externalId: 'calls' } }
    await named.check(names)
    named.pass(5_000)
    await named.check(names)
    expect(named.requests.map(({ path }) => path.replace(/.*\/v2\//, ''))).to.have.length(4)
  })

  it('do not use an answer that was under way when the account was forgotten', async () => {
    let answer: (balance: string) => void = () => undefined
    const first = new Promise<string>((resolve) => (answer = resolve))
    let asked = 0
    const { tally } = scriptedClient([], {
      transport: {
        send: async () => {
          const value = asked++ === 0 ? await first : '9'
          const headers = { 'content-type': 'application/json' }
          return { status: 200, headers, text: JSON.stringify({ balance: value }) }
        },
      },
    })
    const checks = balanceChecks(tally)
    const check = checks.check(QUESTION)
    while (asked === 0) await new Promise(setImmediate)
    checks.forget(ACCOUNT)
    answer('0')
    expect((await check).balance).to.equal('9')
  })

  it('say what onFailure says when Tally does not answer, and throw what Tally refuses', async () => {
    const cut = async (onFailure?: BalanceCheckOptions['onFailure']) => {
      const { check } = stage(['cut'], { onFailure })
      return check()
    }
    expect(await failureOf(cut())).to.be.instanceOf(ConnectionError)
    expect(await failureOf(cut('last'))).to.be.instanceOf(ConnectionError)
    const unknown = { balance: undefined, ageMs: undefined, from: 'failure' }
    expect(await cut('allow')).to.deep.equal({ allowed: true, ...unknown })
    expect(await cut('deny')).to.deep.equal({ allowed: false, ...unknown })

    const last = stage([balance('3'), { status: 503, body: 'busy' }], { onFailure: 'last' })
    await last.check()
    last.add('1.5')
    last.pass(60_000)
    expect(await last.check()).to.deep.equal({
      allowed: true,
      balance: '1.5',
      ageMs: 60_000,
      from: 'failure',
    })
    expect(await last.check({ atLeast: '2' })).to.include({ allowed: false, from: 'failure' })

    const refused = stage([{ status: 404, body: 'not found' }], { onFailure: 'allow' })
    expect(await failureOf(refused.check())).to.be.instanceOf(NotFoundError)
  })

  it('take off usage of this process until Tally has counted it', async () => {
    const { check, add, settle, pass } = stage([balance('10')])
    await check()
    add('2')
    expect((await check()).balance).to.equal('8')
    pass(60_000) // it waits in a spool
    expect(await check()).to.include({ balance: '8', from: 'tally' })
    settle()
    pass(1_999)
    expect((await check()).balance).to.equal('8')
    pass(2_001)
    expect(await check()).to.include({ balance: '10', from: 'tally' })
    add('10')
    expect(await check()).to.include({ allowed: false, balance: '0', from: 'cache' })
  })

  it('are never too high by usage of this process, whenever it is sent, counted and read', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), quantity: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 1_500 }) }),
      fc.record({ kind: fc.constant('send' as const), events: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant('check' as const) }),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 0, max: 2_000 }),
        async (steps, lagMs) => {
          let now = 0
          let watcher: UsageWatcher | undefined
          const events: { quantity: number; addedAt: number; sentAt: number }[] = []
          const counted = () =>
            events
              .filter(({ sentAt }) => sentAt + lagMs <= now)
              .reduce((sum, { quantity }) => sum + quantity, 0)
          const { tally } = scriptedClient([() => ({ body: { balance: String(1_000 - counted()) } })])
          const reporter = { watch: (given: UsageWatcher) => (watcher = given) }
          const checks = balanceChecks(tally, { reporter, accountsMax: 0 }, () => now)
          for (const one of steps)
            if (one.kind === 'pass') now += one.ms
            else if (one.kind === 'add') {
              events.push({ quantity: one.quantity, addedAt: now, sentAt: Infinity })
              watcher?.added({ ...QUESTION, quantity: one.quantity })
            } else if (one.kind === 'send') {
              for (const event of events.filter(({ sentAt }) => sentAt === Infinity).slice(0, one.events))
                event.sentAt = now
              const unsent = events.find(({ sentAt }) => sentAt === Infinity)
              watcher?.settled(unsent === undefined ? 0 : now - unsent.addedAt)
            } else {
              const used = events.reduce((sum, { quantity }) => sum + quantity, 0)
              expect(Number((await checks.check(QUESTION)).balance)).to.be.at.most(1_000 - used)
            }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('leave usage below zero to Tally, so that it never counts twice', async () => {
    const { check, add, settle, pass } = stage([balance('0'), balance('100')])
    settle()
    pass(5_000)
    expect((await check()).allowed).to.equal(false)
    add('-100')
    expect(await check()).to.include({ allowed: false, balance: '0' })
    settle()
    pass(1_500)
    expect(await check({ atLeast: '150' })).to.include({ allowed: false, balance: '100' })
  })

  it('keep as many accounts as they may', async () => {
    const { tally, requests } = scriptedClient([balance('5')])
    let now = 0
    const checks = balanceChecks(tally, { accountsMax: 2 }, () => now)
    const ask = (digit: string) => checks.check({ ...QUESTION, account: `account_${digit.repeat(32)}` })
    for (const digit of ['1', '2', '1', '3', '1', '2']) await ask(digit)
    now += 1
    expect(requests.map(({ path }) => path.slice(21, 22))).to.deep.equal(['1', '2', '3', '2'])
  })
})
