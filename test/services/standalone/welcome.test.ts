import { expect } from 'chai'
import { welcome } from '../../../services/standalone/welcome.ts'

describe('what a start tells', () => {
  const tally = {
    port: 8080,
    address: '127.0.0.1:8080',
    adminAddress: '127.0.0.1:9464',
    analystAddress: '127.0.0.1:8123',
    analystSeesAll: true,
    servesConsole: true,
    dataFolder: '/data',
    firstCompanies: [{ name: 'sandbox', mode: 'test' as const, keyFile: '/data/test-api-key' }],
    missingKeys: [{ name: 'default', mode: 'live' as const, keyFile: '/data/api-key' }],
  }

  it('says in one line which key is gone, and how to make another', () => {
    const told = welcome(tally, 1).filter((line) => line.includes('api-key'))
    expect(told[1]).to.match(
      /^The key of the live company "default" is not in .*data\/api-key any more; "npm run keys -- issue --company default" makes another\.$/,
    )
    expect(welcome({ ...tally, missingKeys: [] }, 1).join()).to.not.include('any more')
  })

  it('names the console first, unless it is off', () => {
    const linesWith = (changes: Partial<typeof tally>) => welcome({ ...tally, ...changes }, 1)
    expect(linesWith({})[1]).to.equal('The console is at http://127.0.0.1:8080/console; it asks for a key.')
    const lines = linesWith({})
    expect(lines[lines.indexOf('Try next:') + 1]).to.match(
      /^ {2}Open http:\/\/127\.0\.0\.1:8080\/console, and sign in with the key in \S*data\/test-api-key\.$/,
    )
    expect(linesWith({ servesConsole: false }).join()).to.not.include('console')
  })

  it('says how analysts sign in', () => {
    const told = (changes: Partial<typeof tally>) =>
      welcome({ ...tally, ...changes }, 1).find((line) => line.startsWith('Analysts '))
    expect(told({})).to.match(
      / on http:\/\/127\.0\.0\.1:8123 as "analyst", the password is in \S+analyst-password\.$/,
    )
    expect(told({ analystSeesAll: false })).to.equal(
      'Analysts query ClickHouse on http://127.0.0.1:8123; "npm run analysts -- add" makes one.',
    )
  })
})
