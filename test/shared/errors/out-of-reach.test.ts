import { expect } from 'chai'
import { isOutOfReach } from '../../../shared/errors/out-of-reach.ts'

describe('a database that is out of reach', () => {
  const failing = (code: string) => Object.assign(new Error('failed'), { code })

  it('is told by the codes of the system and of PostgreSQL, also as the cause of another error', () => {
    for (const code of ['ECONNREFUSED', '08006', '53300', '57P01', '57014', '55P03']) {
      expect(isOutOfReach(failing(code)), code).to.equal(true)
      expect(isOutOfReach(new Error('a query failed', { cause: failing(code) })), code).to.equal(true)
      expect(isOutOfReach(new AggregateError([failing(code)])), code).to.equal(true)
    }
  })

  it('is not told by a query that makes no sense, to PostgreSQL or to ClickHouse', () => {
    for (const code of ['42601', '23505', '28P01', '53', '530', '60', ''])
      expect(isOutOfReach(failing(code)), code).to.equal(false)
  })
})
