import { expect } from 'chai'
import fc from 'fast-check'
import { parseTime } from '../../../shared/time/parse-time.ts'

describe('a time as in RFC 3339', () => {
  it('is read to the second: what comes after the second is cut off, never rounded', () => {
    for (const [text, second] of [
      ['2026-01-31T12:00:00Z', 1_769_860_800],
      ['2026-01-31t12:00:00z', 1_769_860_800],
      ['2026-01-31T12:00:00.999999999999Z', 1_769_860_800],
      ['2026-01-31T13:30:00+01:30', 1_769_860_800],
      ['2026-01-31T12:00:00-00:00', 1_769_860_800],
      ['2026-01-31T00:30:00.5-11:30', 1_769_860_800],
      ['2024-02-29T23:59:59Z', 1_709_251_199],
      ['1970-01-01T00:00:00Z', 0],
      ['1969-12-31T23:59:59.5Z', -1],
      ['0001-01-01T00:00:00Z', -62_135_596_800],
      ['9999-12-31T23:59:59Z', 253_402_300_799],
    ] as const)
      expect(parseTime(text), text).to.equal(second)
  })

  it('is nothing else: no date alone, no local time, no day or second that does not exist', () => {
    for (const text of [
      ...['', '2026-01-31', '2026-01-31T12:00:00', '2026-01-31 12:00:00Z', '20260131T120000Z', '1769860800'],
      ...['2026-02-29T12:00:00Z', '2026-04-31T12:00:00Z', '2026-13-01T12:00:00Z', '2026-00-01T12:00:00Z'],
      ...['2026-01-31T24:00:00Z', '2026-01-31T12:60:00Z', '2026-01-31T12:00:60Z', '2026-01-31T12:00Z'],
      ...['2026-01-31T12:00:00.Z', '2026-01-31T12:00:00+1:00', '2026-01-31T12:00:00+24:00'],
      ...[
        '2026-01-31T12:00:00+01:60',
        ' 2026-01-31T12:00:00Z',
        '2026-01-31T12:00:00Z\n',
        '+002026-01-31T12:00:00Z',
      ],
      '２０２６-01-31T12:00:00Z',
    ])
      expect(parseTime(text), text).to.equal(undefined)
  })

  it('is the same in every time zone', () => {
    const second = fc.integer({ min: 0, max: 4_294_967_295 })
    fc.assert(
      fc.property(second, fc.integer({ min: -1_439, max: 1_439 }), fc.nat(999), (at, offset, ms) => {
        const local = new Date((at + offset * 60) * 1_000 + ms).toISOString().slice(0, -1)
        const two = (number: number) => String(Math.trunc(Math.abs(number))).padStart(2, '0')
        const text = `${local}${offset < 0 ? '-' : '+'}${two(offset / 60)}:${two(offset % 60)}`
        fc.pre(!text.startsWith('-'))
        expect(parseTime(text), text).to.equal(at)
      }),
    )
  })
})
