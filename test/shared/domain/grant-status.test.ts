import { expect } from 'chai'
import { parseAmount } from '../../../shared/amount/amount.ts'
import { grantStatus, type Grant } from '../../../shared/domain/grant.ts'

const at = (second: number) => new Date(second * 1_000)
const grant = (change: Partial<Grant>): Grant => ({
  id: 'grant_1',
  accountId: 'account_1',
  source: 'usd',
  amount: parseAmount('1'),
  description: null,
  contractId: null,
  effectiveAt: at(100),
  expiresAt: at(200),
  acceptedAt: at(50),
  createdAt: at(50),
  updatedAt: at(50),
  voidedAt: null,
  archivedAt: null,
  ...change,
})

describe('the status of a grant', () => {
  it('starts and ends on the second', () => {
    const statuses = [99, 100, 199, 200].map((now) => grantStatus(grant({}), at(now)))
    expect(statuses).to.deep.equal(['scheduled', 'active', 'active', 'expired'])
    expect(grantStatus(grant({ expiresAt: null }), at(1e9))).to.equal('active')
  })

  it('is voided or archived before anything else', () => {
    for (const now of [99, 150, 250]) {
      expect(grantStatus(grant({ voidedAt: at(60) }), at(now))).to.equal('voided')
      expect(grantStatus(grant({ archivedAt: at(60) }), at(now))).to.equal('archived')
      expect(grantStatus(grant({ archivedAt: at(60), voidedAt: at(70) }), at(now))).to.equal('voided')
    }
  })
})
