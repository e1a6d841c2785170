import { expect } from 'chai'
import fc from 'fast-check'
import { parseUtcOffset, type TimeFormat, timeParser } from '../../../clients/core/parse-time.ts'

const AT = 1_700_158_623 // 2023-11-16 18:17:03 UTC

const parse = (text: string, format: TimeFormat = 'auto', utcOffsetS = 0) =>
  timeParser(format, utcOffsetS)(text)

describe('times in files', () => {
  const TAKEN: [string, TimeFormat?, number?][] = [
    ['2023-11-16 18:17:03'],
    ['2023-11-16 18:17:03.9799600'],
    ['2023-11-16 18:17:03,979'],
    ['2023-11-16T18:17:03Z'],
    ['2023-11-16t18:17:03.979960123z'],
    ['2023-11-16T20:17:03+02:00'],
    ['2023-11-16T20:17:03+0200'],
    ['2023-11-16T20:17:03+02'],
    ['2023-11-16 12:47:03 -05:30'],
    ['2023-11-16 18:17:03 UTC'],
    [' 2023-11-16 18:17:03 '],
    ['2023-11-16 18:17:03', 'text'],
    ['2023-11-16 19:17:03', 'auto', 3_600],
    ['2023-11-16T18:17:03Z', 'auto', 3_600],
    ['1700158623'],
    ['1700158623.979'],
    ['1700158623979'],
    ['1700158623979960'],
    ['1700158623979960123'],
    ['1700158623', 'unix-s'],
    ['1700158623979', 'unix-ms'],
    ['1700158623979.5', 'unix-ms'],
    ['1700158623979960', 'unix-us'],
    ['1700158623979960123', 'unix-ns'],
  ]
  for (const [text, format, offset] of TAKEN)
    it(`takes ${JSON.stringify(text)}${format === undefined ? '' : ` as ${format}`}`, () => {
      expect(parse(text, format, offset)).to.equal(AT)
    })

  it('takes a date and a time without seconds', () => {
    expect(parse('2023-11-16')).to.equal(Date.UTC(2023, 10, 16) / 1_000)
    expect(parse('2023-11-16 18:17')).to.equal(AT - 3)
  })

  it('cuts fractions, and rounds none up', () => {
    expect(parse('2023-11-16 18:17:03.9999999')).to.equal(AT)
    expect(parse('1700158623999999999')).to.equal(AT)
  })

  const REFUSED: [string, TimeFormat?][] = [
    [''],
    ['yesterday'],
    ['11/16/2023 18:17:03'],
    ['2023-02-29 00:00:00'],
    ['2023-04-31'],
    ['2023-11-16 24:00:00'],
    ['2023-11-16 18:17:60'],
    ['2023-11-16 18:60:00'],
    ['2023-11-16 18:17:03 CET'],
    ['2023-11-16 18:17:03+25:00'],
    ['2023-11-16 18:17:03.12345678901'],
    ['20231116'],
    ['17001586239'],
    ['-1700158623'],
    ['1e9'],
    ['1969-12-31 23:59:59'],
    ['2200-01-01'],
    ['1700158623', 'text'],
    ['2023-11-16 18:17:03', 'unix-s'],
    ['99999999999', 'unix-s'],
  ]
  for (const [text, format] of REFUSED)
    it(`refuses ${JSON.stringify(text)}${format === undefined ? '' : ` as ${format}`}`, () => {
      expect(parse(text, format)).to.have.property('fault')
    })

  it('says what is odd about a date with slashes', () => {
    expect(parse('11/16/2023')).to.have.property('fault').that.contains('day and month')
  })

  it('finds the same second in every form of any time', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000_000_000, max: 4_294_967_295 }),
        fc.integer({ min: 0, max: 999 }),
        fc.integer({ min: -18 * 60, max: 18 * 60 }),
        (second, millis, offsetMinutes) => {
          const local = new Date((second + offsetMinutes * 60) * 1_000).toISOString().slice(0, 19)
          const minutes = Math.abs(offsetMinutes)
          const pad = (n: number) => String(n).padStart(2, '0')
          const zone = `${offsetMinutes < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`
          const fraction = String(millis).padStart(3, '0')
          for (const text of [
            `${local}.${fraction}${zone}`,
            `${local.replace('T', ' ')} ${zone}`,
            `${second}.${fraction}`,
            `${second}${fraction}`,
            `${second}${fraction}000`,
            `${second}${fraction}000000`,
          ])
            expect(parse(text), text).to.equal(second)
          expect(parse(local, 'text', parseUtcOffset(zone) ?? NaN)).to.equal(second)
        },
      ),
    )
  })
})
