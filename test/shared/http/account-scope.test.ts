import { expect } from 'chai'
import { limitToAccount, requireOwnAnswer } from '../../../shared/http/account-scope.ts'
import { operationById } from '../../../shared/http/openapi-document.ts'

const [OURS, THEIRS] = ['a', 'b'].map((digit) => `account_${digit.repeat(32)}`) as [string, string]

describe('what an account key may ask', () => {
  const ask = (operationId: string, asked: { params?: object; query?: object }) =>
    limitToAccount(operationById(operationId))({ params: {}, query: {}, ...asked }, OURS)
  const refusal = (operationId: string, asked: { params?: object; query?: object }) => {
    expect(() => ask(operationId, asked))
      .to.throw()
      .with.property('name', 'DomainError')
    try {
      ask(operationId, asked)
    } catch (err) {
      return (err as { code: string }).code
    }
    return undefined
  }

  it('is its own account, in the path or in the query', () => {
    expect(ask('getAccount', { params: { account_id: OURS } }).params).to.deep.equal({ account_id: OURS })
    expect(ask('listGrants', { query: { account_id: OURS } }).query).to.deep.equal({ account_id: OURS })
    expect(refusal('getAccount', { params: { account_id: THEIRS } })).to.equal('not_found')
    expect(refusal('listGrants', { query: { account_id: THEIRS } })).to.equal('not_found')
    expect(refusal('getAccount', { params: { account_id: THEIRS }, query: { account_id: OURS } })).to.equal(
      'not_found',
    )
  })

  it('is its own account, too, when it names none', () => {
    for (const id of ['listGrants', 'getUsage'])
      expect(ask(id, { query: { limit: 5 } }).query).to.deep.equal({ limit: 5, account_id: OURS })
  })

  it('is nothing that is not offered to it, and no property', () => {
    expect(refusal('listAccounts', {})).to.equal('forbidden')
    expect(refusal('createGrant', {})).to.equal('forbidden')
    expect(refusal('getUsage', { query: { property: 'model' } })).to.equal('forbidden')
  })

  it('must be known of each operation that is offered to it', () => {
    const offered = { ...operationById('getGrant'), permissions: ['read:account' as const] }
    expect(() => limitToAccount(offered)).to.throw('getGrant is offered to account keys')
  })

  it('is looked at again in the answer, at any depth', () => {
    const page = (id: string | null) => ({ data: [{ amount: '1', account_id: OURS }, { account_id: id }] })
    for (const id of [OURS, null])
      expect(() => {
        requireOwnAnswer(page(id), OURS)
      }).to.not.throw()
    expect(() => {
      requireOwnAnswer(page(THEIRS), OURS)
    }).to.throw('another account')
  })
})
