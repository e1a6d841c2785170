import { expect } from 'chai'
import {
  AbortedError,
  ConflictError,
  ConnectionError,
  OutcomeUnknownError,
} from '../../../clients/sdk/src/node.ts'
import { failureOf } from '../../support/failure-of.ts'
import { scriptedClient, type Step } from './scripted-client.ts'

const USED = 'Idempotency-Key: this key was used before'
const used = (id: string): Step => ({
  status: 409,
  headers: { 'Idempotency-Resource': id },
  body: `${USED}, for ${id}`,
})
const OTHER: Step = {
  status: 409,
  headers: { 'Idempotency-Resource': 'account_1' },
  body: `${USED}, for account_1, with another content: nothing of this request was done`,
}
const LIMITED: Step = { status: 429, body: 'rate limit exceeded' }

describe('a lost answer', () => {
  it('is made good by reading what the request made', async () => {
    for (const lost of ['cut', { status: 500, body: 'internal error' }, { status: 504, body: '' }] as const) {
      const { tally, requests } = scriptedClient([lost, used('account_1'), { body: { id: 'account_1' } }])
      expect(await tally.accounts.create({ name: 'Acme' })).to.deep.equal({ id: 'account_1' })
      expect(requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
        'POST /v2/accounts',
        'POST /v2/accounts',
        'GET /v2/accounts/account_1',
      ])
      expect(requests[2]?.headers).to.not.have.property('idempotency-key')
    }
  })

  it('is found by the text of a server that does not send the header', async () => {
    const { tally, requests } = scriptedClient([
      'cut',
      { status: 409, body: `${USED}, for contract_1` },
      { body: { id: 'contract_1' } },
    ])
    await tally.contracts.cancel('contract_1', { mode: 'period_end' })
    expect(requests.at(-1)?.path).to.equal('/v2/contracts/contract_1')
  })

  it('of a configuration is read by account and metric, that of a clock without an id', async () => {
    const refill = scriptedClient(['cut', used('account_1/metric_1'), { body: { is_active: true } }])
    const wanted = { account_id: 'account_1', metric_id: 'metric_1', minimum_balance: 5, target_balance: 10 }
    await refill.tally.refillConfigurations.create(wanted)
    expect(refill.requests.at(-1)?.path).to.equal('/v2/refill-configurations/account_1/metric_1')
    const clock = scriptedClient([
      'cut',
      { status: 409, body: `${USED}, for 3d813cbb` },
      { body: { now: 5 } },
    ])
    expect(await clock.tally.testClock.advance({ seconds: 5 })).to.deep.equal({ now: 5 })
    expect(clock.requests.at(-1)?.method).to.equal('GET')
  })

  it('with a secret names the key that must be revoked', async () => {
    const { tally, requests } = scriptedClient(['cut', used('key_1')])
    const err = await failureOf(tally.apiKeys.create({ name: 'k', permissions: ['read:all'] }))
    expect(OutcomeUnknownError.is(err) && err.id).to.equal('key_1')
    expect(OutcomeUnknownError.is(err) && err.message).to.contain('made key_1')
    expect(requests.length).to.equal(2)
    const rotated = scriptedClient(['cut', used('key_2')])
    const lost = await failureOf(rotated.tally.apiKeys.rotate('key_1', { overlap_seconds: 60 }))
    expect(OutcomeUnknownError.is(lost) && lost.id).to.equal('key_2')
  })

  it('is not hidden by a failure of the read', async () => {
    const { tally } = scriptedClient(['cut', used('account_1'), 'cut'])
    const err = await failureOf(tally.accounts.create({ name: 'Acme' }))
    expect(OutcomeUnknownError.is(err) && [err.id, ConnectionError.is(err.cause)]).to.deep.equal([
      'account_1',
      true,
    ])
    const controller = new AbortController()
    const abort: Step = () => {
      controller.abort()
      return { status: 503, body: 'try again' }
    }
    const aborted = scriptedClient(['cut', used('account_1'), abort])
    const ended = aborted.tally.accounts.create({ name: 'Acme' }, { signal: controller.signal })
    expect(AbortedError.is(await failureOf(ended))).to.equal(true)
  })

  it('is not supposed where the refused key was used by somebody else', async () => {
    const mine = { idempotencyKey: 'mine' }
    const cases: [Step[], object][] = [
      [[used('account_1')], {}],
      [[used('account_1')], mine],
      [[LIMITED, used('account_1')], mine],
      [['cut', OTHER], mine],
      [['cut', { status: 409, body: 'external_id: another account has it' }], {}],
    ]
    for (const [steps, options] of cases) {
      const { tally, requests } = scriptedClient(steps)
      const err = await failureOf(tally.accounts.create({ name: 'Acme' }, options))
      expect(ConflictError.is(err), JSON.stringify(steps)).to.equal(true)
      expect(requests.length).to.equal(steps.length)
    }
  })

  it("of a report with the caller's key says that it was done", async () => {
    const { tally } = scriptedClient(['cut', used('event_1')])
    const event = { account_id: 'account_1', currency: 'usd', quantity: '1' }
    const err = await failureOf(tally.events.report(event, { idempotencyKey: 'mine' }))
    expect(OutcomeUnknownError.is(err) && err.id).to.equal('event_1')
  })
})
