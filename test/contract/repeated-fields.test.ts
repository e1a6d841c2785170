import { expect } from 'chai'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'

describe('a field that is given twice in a body', () => {
  let tally: TallyUnderTest
  before(async () => {
    tally = await shareTallyUnderTest()
  })
  after(() => tally.end())

  it('counts as it is given last', async () => {
    const response = await fetch(`${tally.url}/v2/customers`, {
      method: 'POST',
      headers: { 'x-api-key': tally.key, 'content-type': 'application/json' },
      body: '{"name":"first","name":"last"}',
    })
    expect(await response.json()).to.include({ name: 'last' })
  })
})
