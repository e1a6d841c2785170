import { expect } from 'chai'
import { formatEvents, parseEvents } from '../../bench/event-number.ts'

describe('a number of events', () => {
  it('is read with and without a letter, and written the same way', () => {
    for (const [text, events] of [
      ['1M', 1_000_000],
      ['100M', 100_000_000],
      ['250k', 250_000],
      ['1234', 1_234],
    ] as const) {
      expect(parseEvents('events', text)).to.equal(events)
      expect(formatEvents(events)).to.equal(text)
    }
  })

  it('is refused by the name of the option', () => {
    for (const text of ['', '0', '1.5M', '-1', '1G', 'M', '1001M', '1m'])
      expect(() => parseEvents('up-to', text), text).to.throw('--up-to')
  })
})
