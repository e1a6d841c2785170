import { expect } from 'chai'
import { checkCloudEvent } from '../../../../services/gateway/cloud-events/cloud-event.ts'

const GOOD = {
  specversion: '1.0',
  id: 'request-8812',
  source: '/gateway/eu',
  type: 'model.called',
  subject: 'acme',
  time: '2026-01-31T12:00:00Z',
  data: { tokens: '4808' },
}
const malformed = (message: string) => ({ code: 'malformed', message })
const impossible = (message: string) => ({ code: 'unprocessable', message })

describe('the attributes of a CloudEvent', () => {
  it('become identity, account, type, time and properties', () => {
    expect(checkCloudEvent(GOOD)).to.deep.equal({
      key: { kind: 'cloudevent', source: '/gateway/eu', id: 'request-8812' },
      subject: 'acme',
      type: 'model.called',
      occurredAt: 1_769_860_800,
      data: { tokens: '4808' },
    })
  })

  it('are ignored when Tally does not use them, and absent when they are null', () => {
    const same = checkCloudEvent(GOOD)
    for (const more of [
      { dataschema: 'urn:x', traceparent: '00-1', 'odd name': { a: [1] }, n: 1e400, __proto: 1 },
      { datacontenttype: null, data_base64: null, dataschema: null },
      { datacontenttype: 'application/json' },
      { datacontenttype: 'Application/JSON; charset=utf-8' },
      { datacontenttype: 'application/json ;charset=utf-8' },
    ])
      expect(checkCloudEvent({ ...GOOD, ...more }), JSON.stringify(more)).to.deep.equal(same)
  })

  it('need no data', () => {
    for (const data of [undefined, null, {}])
      expect(checkCloudEvent({ ...GOOD, data })).to.deep.include({ data: {} })
  })

  it('are counted in characters, not in code units', () => {
    for (const name of ['id', 'source']) {
      expect(checkCloudEvent({ ...GOOD, [name]: '😀'.repeat(512) })).to.have.property('key')
      expect(checkCloudEvent({ ...GOOD, [name]: '😀'.repeat(513) })).to.deep.equal(
        malformed(`${name}: has more than 512 characters`),
      )
    }
  })

  it('are refused by name', () => {
    const lack = 'is required'
    for (const [change, fault] of [
      [{ specversion: undefined }, malformed('specversion: must be "1.0"')],
      [{ specversion: '0.3' }, malformed('specversion: must be "1.0"')],
      [{ specversion: 1 }, malformed('specversion: must be "1.0"')],
      ...['id', 'source', 'type', 'subject'].flatMap(
        (name) =>
          [
            [{ [name]: undefined }, malformed(`${name}: ${lack}`)],
            [{ [name]: null }, malformed(`${name}: ${lack}`)],
            [{ [name]: '' }, malformed(`${name}: must not be empty`)],
            [{ [name]: 5 }, malformed(`${name}: must be text`)],
            [{ [name]: ['x'] }, malformed(`${name}: must be text`)],
            [{ [name]: 'a\0' }, malformed(`${name}: holds a NUL character or half of a surrogate pair`)],
            [{ [name]: '\ud800' }, malformed(`${name}: holds a NUL character or half of a surrogate pair`)],
          ] as const,
      ),
      [{ time: undefined }, impossible('time: is needed, so that a repeat counts once')],
      [{ time: null }, impossible('time: is needed, so that a repeat counts once')],
      [{ time: '' }, malformed('time: must be a time as in RFC 3339, such as "2026-01-31T12:00:00Z"')],
      [
        { time: 1_769_860_800 },
        malformed('time: must be a time as in RFC 3339, such as "2026-01-31T12:00:00Z"'),
      ],
      [{ time: '1969-12-31T23:59:59Z' }, impossible('time: lies more than five years back')],
      [{ time: '2106-02-07T06:28:16Z' }, impossible('time: lies more than five minutes ahead')],
      [{ data: [] }, malformed('data: must be an object')],
      [{ data: '{}' }, malformed('data: must be an object')],
      [{ data: 0 }, malformed('data: must be an object')],
      [{ data_base64: '' }, malformed('data_base64: only JSON data is taken, in data')],
      [{ datacontenttype: 'text/plain' }, malformed('datacontenttype: must be application/json')],
      [{ datacontenttype: 'application/jsonx' }, malformed('datacontenttype: must be application/json')],
      [{ datacontenttype: 5 }, malformed('datacontenttype: must be application/json')],
    ] as const)
      expect(checkCloudEvent({ ...GOOD, ...change }), JSON.stringify(change)).to.deep.equal(fault)
    for (const other of [null, 5, 'x', [], [GOOD]])
      expect(checkCloudEvent(other)).to.deep.equal(malformed('must be a CloudEvent, which is an object'))
  })
})
