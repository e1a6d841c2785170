import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { ConfigError, EnvReader } from '../../../shared/config/env-reader.ts'
import { identify } from '../../../shared/http/authentication.ts'
import { HttpError } from '../../../shared/http/http-error.ts'
import { addressBehind } from '../../../shared/rate-limit/client-address.ts'
import { readRateLimitConfig } from '../../../shared/rate-limit/config.ts'
import { openRateLimits } from '../../../shared/rate-limit/rate-limits.ts'
import { failureOf } from '../../support/failure-of.ts'

const requestOf = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage

describe('the address of a client', () => {
  it('is that of the connection, whatever a header says, unless proxies are trusted', () => {
    for (const addressOf of [addressBehind([]), addressBehind(['10.0.0.0/8'])])
      expect(addressOf(requestOf('192.0.2.1', '198.51.100.7'))).to.equal('192.0.2.1')
  })

  it('is the last one that no trusted proxy has: those before it, anybody may have written', () => {
    const addressOf = addressBehind(['10.0.0.0/8', 'fd00::/8', 'loopback'])
    for (const [peer, forwarded, address] of [
      ['10.1.2.3', '198.51.100.7', '198.51.100.7'],
      ['10.1.2.3', '203.0.113.9, 198.51.100.7', '198.51.100.7'],
      ['::1', '203.0.113.9, 198.51.100.7, 10.9.9.9', '198.51.100.7'],
      ['::ffff:10.1.2.3', '198.51.100.7', '198.51.100.7'],
      ['fd00::1', '2001:db8::5', '2001:db8::5'],
      ['fd00::1', undefined, 'fd00::1'],
      ['10.1.2.3', '203.0.113.9, 198.51.100.7:50123', '198.51.100.7'],
      ['10.1.2.3', '[2001:db8::5]:50123', '2001:db8::5'],
      ['10.1.2.3', '2001:db8::5', '2001:db8::5'],
    ] as const)
      expect(addressOf(requestOf(peer, forwarded)), `${peer} ${forwarded ?? ''}`).to.equal(address)
  })

  it('has wrong keys counted for itself behind a trusted proxy, and for the peer in front of none', async () => {
    const retryAfter = async (proxies: string, peer: string, forwarded: string[]) => {
      const read = new EnvReader({ TRUSTED_PROXIES: proxies, RATE_LIMIT_WRONG_KEYS_PER_MIN: '1' })
      const access = { findCaller: () => undefined, limits: openRateLimits(readRateLimitConfig(read)) }
      read.done()
      const waits: boolean[] = []
      for (const address of forwarded) {
        const refusal = await failureOf(identify(requestOf(peer, address), access))
        expect(refusal).to.be.instanceOf(HttpError)
        waits.push('Retry-After' in (refusal as HttpError).headers)
      }
      return waits
    }
    const clients = ['198.51.100.7', '203.0.113.9', '198.51.100.7']
    expect(await retryAfter('10.0.0.0/8', '10.1.2.3', clients)).to.deep.equal([false, false, true])
    expect(await retryAfter('10.0.0.0/8', '192.0.2.1', clients)).to.deep.equal([false, true, true])
    expect(await retryAfter('', '10.1.2.3', clients)).to.deep.equal([false, true, true])
  })

  it('is not looked for behind what is no network', () => {
    for (const text of ['10.0.0.0/99', 'nginx', '10.0.0.1,', '*']) {
      const read = new EnvReader({ TRUSTED_PROXIES: text })
      readRateLimitConfig(read)
      expect(() => {
        read.done()
      }, text).to.throw(ConfigError, 'TRUSTED_PROXIES must be networks with commas between them')
    }
  })
})
