import { expect } from 'chai'
import { readApiConfig } from '../../../services/api/config.ts'
import { ConfigError, EnvReader } from '../../../shared/config/env-reader.ts'

/** The origins that a setting allows. @throws ConfigError */
function originsOf(text?: string): string[] {
  const read = new EnvReader(text === undefined ? {} : { BROWSER_ORIGINS: text })
  const { browserOrigins } = readApiConfig(read)
  read.done()
  return [...browserOrigins]
}

describe('the origins of pages that may use account keys', () => {
  it('are none, unless they are set', () => {
    expect([originsOf(), originsOf('')]).to.deep.equal([[], []])
    expect(originsOf('https://app.example.com')).to.deep.equal(['https://app.example.com'])
    expect(originsOf('https://a.example , http://127.0.0.1:3000')).to.deep.equal([
      'https://a.example',
      'http://127.0.0.1:3000',
    ])
  })

  it('are written as browsers send them, each by itself', () => {
    const wrong = [
      '*',
      'null',
      'app.example.com',
      'https://app.example.com/',
      'https://app.example.com:443',
      'https://APP.example.com',
      'https://*.example.com',
      'https://user@app.example.com',
      'file:///tmp',
      'https://a.example,',
      'https://a.example https://b.example',
    ]
    for (const text of wrong) expect(() => originsOf(text), text).to.throw(ConfigError, 'BROWSER_ORIGINS has')
  })
})
