import { expect } from 'chai'
import { fillIn, type Table } from '../../../tools/generate/page.ts'

const TABLE: Table = [
  ['What', 'ms'],
  ['one `a|b`', '1.5'],
]

describe('pages whose tables are made', () => {
  it('have each table where their text asks for it', () => {
    expect(fillIn('before\n\n<!-- table one -->\n\nafter\n', { one: TABLE })).to.equal(
      'before\n\n| What | ms |\n| --- | --- |\n| one `a\\|b` | 1.5 |\n\nafter\n',
    )
  })

  it('are not made when their text asks for a table that is not there', () => {
    expect(() => fillIn('<!-- table two -->', { one: TABLE })).to.throw(RangeError, 'there is no table two')
  })

  it('are not made when their text has no place for a table', () => {
    expect(() => fillIn('text', { one: TABLE })).to.throw(RangeError, 'the text has no place for one')
  })
})
