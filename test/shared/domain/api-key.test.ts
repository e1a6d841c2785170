import { expect } from 'chai'
import { digestOfApiKey, isApiKey, newApiKey } from '../../../shared/domain/api-key.ts'

describe('API keys', () => {
  it('carry their mode, 32 random characters and a checksum', () => {
    const keys = Array.from({ length: 200 }, () => newApiKey('live'))
    expect(new Set(keys).size).to.equal(200)
    for (const key of keys) expect(key).to.match(/^tally_live_[0-9A-Za-z]{38}$/)
    expect(keys.every(isApiKey)).to.equal(true)
    expect(newApiKey('test')).to.match(/^tally_test_/)
  })

  it('of one account say so, because web pages may have them', () => {
    for (const mode of ['live', 'test'] as const) {
      const key = newApiKey(mode, true)
      expect(key).to.match(new RegExp(`^tally_${mode}_account_[0-9A-Za-z]{38}$`))
      expect(isApiKey(key)).to.equal(true)
      expect(isApiKey(key.replace('account', 'company'))).to.equal(false)
    }
  })

  it('are refused without a look-up when one character is wrong', () => {
    const key = newApiKey('live')
    for (let at = 'tally_live_'.length; at < key.length; at++) {
      const wrong = key.slice(0, at) + (key[at] === 'a' ? 'b' : 'a') + key.slice(at + 1)
      expect(isApiKey(wrong), wrong).to.equal(false)
    }
    for (const text of [
      '',
      'tally_live_',
      key.toLowerCase() + 'x',
      ` ${key}`,
      `${key}\n`,
      key.replace('live', 'prod'),
    ])
      expect(isApiKey(text)).to.equal(false)
  })

  it('are stored as a digest of 32 bytes', () => {
    expect(digestOfApiKey('tally_live_x')).to.have.length(32)
  })
})
