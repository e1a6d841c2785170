import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { Tally, WebhookVerificationError } from '../../../clients/sdk/src/node.ts'
import { failureOf } from '../../support/failure-of.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes ...').toString('base64')}`
const OLD = `whsec_${Buffer.from('the secret before it ...').toString('base64')}`
const BODY = '{"type": "balance.low", "data": {"quantity": "0.10", "name": "ü"}}'

const sign = (body: string, id: string, time: number, secret = SECRET): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(`${id}.${time}.${body}`)
    .digest('base64')}`
const headersOf = (body = BODY, time = Math.floor(Date.now() / 1_000), secret = SECRET) => ({
  'Webhook-Id': 'msg_1',
  'Webhook-Timestamp': String(time),
  'Webhook-Signature': sign(body, 'msg_1', time, secret),
})
const { unwrap } = Tally.webhooks
const reasonOf = async (work: Promise<unknown>): Promise<string | undefined> => {
  const err = await failureOf(work)
  return WebhookVerificationError.is(err) ? err.reason : undefined
}

describe('webhooks of the SDK', () => {
  it('are unwrapped with the headers of any server, as text or as bytes', async () => {
    const headers = headersOf()
    const expected = { type: 'balance.low', data: { quantity: '0.10', name: 'ü' } }
    expect(await unwrap(BODY, headers, SECRET)).to.deep.equal(expected)
    expect(await unwrap(Buffer.from(BODY), new Headers(headers), SECRET)).to.deep.equal(expected)
    const lists = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]]),
    )
    expect(await unwrap(BODY, lists, SECRET)).to.deep.equal(expected)
  })

  it('are accepted with any of several signatures and secrets', async () => {
    const headers = headersOf(BODY, undefined, OLD)
    headers['Webhook-Signature'] = `v1a,AAAA v1,!!! v1,AAAA ${headers['Webhook-Signature']}`
    expect(await unwrap(BODY, headers, [SECRET, OLD])).to.have.property('type')
    expect(await reasonOf(unwrap(BODY, headers, SECRET))).to.equal('signature')
  })

  it('agree with the example of Standard Webhooks', async () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    }
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const content = await unwrap('{"test": 2432232314}', headers, secret, { toleranceS: 1e12 })
    expect(content).to.deep.equal({ test: 2_432_232_314 })
  })

  it('are refused with the reason', async () => {
    const good = headersOf()
    const now = Math.floor(Date.now() / 1_000)
    expect(await reasonOf(unwrap(BODY, { ...good, 'Webhook-Id': '' }, SECRET))).to.equal('header')
    expect(await reasonOf(unwrap(BODY, {}, SECRET))).to.equal('header')
    expect(await reasonOf(unwrap(BODY, headersOf(BODY, now - 310), SECRET))).to.equal('time')
    expect(await reasonOf(unwrap(BODY, headersOf(BODY, now + 310), SECRET))).to.equal('time')
    expect(await reasonOf(unwrap(BODY, { ...good, 'Webhook-Timestamp': 'now' }, SECRET))).to.equal('time')
    expect(await reasonOf(unwrap(`${BODY} `, good, SECRET))).to.equal('signature')
    expect(await reasonOf(unwrap(BODY, { ...good, 'Webhook-Id': 'msg_2' }, SECRET))).to.equal('signature')
    expect(await reasonOf(unwrap(JSON.parse(BODY) as string, good, SECRET))).to.equal('body')
    expect(await reasonOf(unwrap('not JSON', headersOf('not JSON'), SECRET))).to.equal('body')
    expect(await failureOf(unwrap(BODY, good, 'whsec_'))).to.be.instanceOf(TypeError)
  })
})
