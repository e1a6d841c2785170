import { expect } from 'chai'
import { historyLines } from '../../../services/loader/history-lines.ts'
import type { LineSubject } from '../../../shared/domain/line-subjects.ts'
import { countTurns } from '../../support/count-turns.ts'

const DAY_S = 86_400
const NOW = 1_790_000_000

/** Of an event that was accepted so many seconds after it occurred. */
const subject = (lateS: number, accountId = 'a'): LineSubject => ({
  namespaceId: '',
  accountId,
  occurredAt: NOW - lateS,
  acceptedAt: NOW * 1_000_000,
})
const OLD = subject(40 * DAY_S)
const YOUNG = subject(40 * DAY_S - 1)

describe('lines of history', () => {
  const markOf = ({ accountId }: LineSubject) => (accountId === 'a' ? '7' : '18446744073709551615')

  it('are those that were accepted 40 days after they occurred', async () => {
    const lines = Buffer.from('{"n":1}\n{"n":2}\n{"n":3}\n')
    const picked = await historyLines(lines, [OLD, YOUNG, subject(1_000 * DAY_S, 'b')], markOf)
    expect(picked?.toString()).to.equal(
      '{"insert_mark":"7","n":1}\n{"insert_mark":"18446744073709551615","n":3}\n',
    )
  })

  it('may be none', async () => {
    expect(await historyLines(Buffer.from('{"n":1}\n'), [YOUNG], markOf)).to.equal(undefined)
    expect(await historyLines(Buffer.alloc(0), [], markOf)).to.equal(undefined)
  })

  it('may lack the last line end, hold text of more than one byte, braces and white space', async () => {
    const lines = Buffer.from(' \t{"p":{"ä":"}{"}}\n {"p":"\\n{"}')
    const picked = await historyLines(lines, [OLD, subject(50 * DAY_S, 'b')], markOf)
    expect(
      picked
        ?.toString()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as unknown),
    ).to.deep.equal([
      { insert_mark: '7', p: { ä: '}{' } },
      { insert_mark: '18446744073709551615', p: '\n{' },
    ])
  })

  it('are as many as there are, however long the marks', async () => {
    const subjects = Array.from({ length: 1_000 }, () => subject(50 * DAY_S, 'b'))
    const picked = await historyLines(Buffer.from('{"n":1}\n'.repeat(1_000)), subjects, markOf)
    expect(picked?.toString()).to.equal('{"insert_mark":"18446744073709551615","n":1}\n'.repeat(1_000))
  })

  it('let others have their turn while there are many', async () => {
    const lines = Buffer.from(`{"properties":{"text":"${'x'.repeat(500)}"}}\n`.repeat(100_000))
    const subjects = Array<LineSubject>(100_000).fill(OLD)
    expect(await countTurns(() => historyLines(lines, subjects, markOf))).to.be.at.least(3)
  })
})
