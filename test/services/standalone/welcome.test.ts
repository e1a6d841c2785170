import { expect } from 'chai'
import { welcome } from '../../../services/standalone/welcome.ts'

describe('what a start tells', () => {
  const tally = {
    port: 8080,
    address: '127.0.0.1:8080',
    adminAddress: '127.0.0.1:9464',
    analystPort: undefined,
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
})
